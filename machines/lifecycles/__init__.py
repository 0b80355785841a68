"""lifecycles"""
