"""crashlab"""
