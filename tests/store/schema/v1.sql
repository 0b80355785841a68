CREATE TABLE facts (
  ordinal INTEGER PRIMARY KEY CHECK (ordinal > 0),
  id TEXT NOT NULL UNIQUE,
  session TEXT NOT NULL,
  invocation TEXT NOT NULL,
  run TEXT NOT NULL,
  turn TEXT NOT NULL,
  seq INTEGER NOT NULL CHECK (seq > 0),
  kind TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  chain BLOB NOT NULL,
  root BLOB NOT NULL,
  stamp BLOB NOT NULL,
  body BLOB NOT NULL,
  UNIQUE (invocation, seq),
  CHECK ((seq = 1) = (kind IN ('run_opened', 'session_opened')))
) STRICT;

CREATE UNIQUE INDEX facts_opening ON facts (run) WHERE seq = 1;

CREATE UNIQUE INDEX facts_terminal ON facts (run) WHERE kind = 'run_ended';

CREATE INDEX facts_turn ON facts (turn) WHERE seq = 1;

CREATE INDEX facts_session ON facts (session, ordinal);

CREATE TABLE cells (
  machine TEXT NOT NULL,
  instance TEXT NOT NULL,
  session TEXT NOT NULL,
  scope TEXT NOT NULL,
  phase TEXT NOT NULL,
  pending TEXT,
  made INTEGER NOT NULL,
  moved INTEGER NOT NULL,
  reducer INTEGER NOT NULL,
  cell BLOB NOT NULL,
  PRIMARY KEY (machine, instance)
) STRICT, WITHOUT ROWID;

CREATE INDEX cells_pending ON cells (pending, scope, made, instance) WHERE pending IS NOT NULL;

CREATE UNIQUE INDEX cells_live_run ON cells (scope) WHERE pending = 'run.live';

CREATE INDEX cells_session ON cells (session);

CREATE TABLE sessions (
  session TEXT PRIMARY KEY,
  opened INTEGER NOT NULL,
  context TEXT NOT NULL,
  last_run TEXT,
  abandoned INTEGER NOT NULL CHECK (abandoned IN (0, 1)),
  runs INTEGER NOT NULL,
  adopted INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE keys (
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  input TEXT NOT NULL,
  fact TEXT NOT NULL,
  message TEXT,
  run TEXT,
  PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE root (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  root_id TEXT NOT NULL,
  ordinal INTEGER NOT NULL
) STRICT;

CREATE TABLE lease (
  number INTEGER PRIMARY KEY,
  event TEXT NOT NULL CHECK (event IN ('open', 'gone', 'close')),
  held INTEGER NOT NULL CHECK (held IN (0, 1)),
  epoch INTEGER NOT NULL,
  gone INTEGER NOT NULL,
  row TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  host TEXT NOT NULL,
  since TEXT NOT NULL,
  pid INTEGER NOT NULL,
  boot_id TEXT NOT NULL,
  started TEXT NOT NULL,
  device TEXT NOT NULL,
  inode TEXT NOT NULL
) STRICT;

CREATE TABLE workers (
  worker TEXT PRIMARY KEY,
  epoch INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  boot_id TEXT NOT NULL,
  started TEXT NOT NULL,
  process_group INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  ended INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX workers_left ON workers (epoch) WHERE ended IS NULL;

CREATE TABLE claims (
  claim TEXT PRIMARY KEY,
  session TEXT NOT NULL,
  boundary TEXT NOT NULL,
  source_run TEXT NOT NULL UNIQUE,
  target_invocation TEXT NOT NULL,
  target_run TEXT NOT NULL,
  target_turn TEXT NOT NULL,
  projection INTEGER NOT NULL,
  replay TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  row TEXT NOT NULL,
  evidence TEXT NOT NULL,
  profile BLOB NOT NULL,
  manifest BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE seals (
  run TEXT NOT NULL,
  claim TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  PRIMARY KEY (run, claim)
) STRICT, WITHOUT ROWID;

CREATE TABLE reservations (
  word TEXT NOT NULL CHECK (word IN ('invocation', 'run', 'turn')),
  id TEXT NOT NULL,
  claim TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  PRIMARY KEY (word, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE accepted_losses (
  number INTEGER PRIMARY KEY,
  anchored INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  epoch INTEGER NOT NULL
) STRICT;

CREATE TABLE quarantine (
  session TEXT PRIMARY KEY,
  code TEXT NOT NULL,
  first_bad INTEGER NOT NULL,
  head_seq INTEGER NOT NULL,
  head_chain TEXT NOT NULL,
  ordinal INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE imports (
  session TEXT PRIMARY KEY,
  root TEXT NOT NULL,
  ordinal INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE partials (
  owner TEXT NOT NULL,
  stream TEXT NOT NULL,
  session TEXT NOT NULL,
  invocation TEXT NOT NULL,
  run TEXT NOT NULL,
  turn TEXT NOT NULL,
  lane TEXT NOT NULL,
  finished INTEGER NOT NULL CHECK (finished IN (0, 1)),
  bytes_total INTEGER NOT NULL,
  snapshot BLOB NOT NULL,
  PRIMARY KEY (owner, stream)
) STRICT, WITHOUT ROWID;

CREATE INDEX partials_run ON partials (run);

