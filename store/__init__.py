"""What is durable, and the only place that speaks SQL."""
