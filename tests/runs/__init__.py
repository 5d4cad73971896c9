"""How pytest runs these tests: which run where and side by side, and what they cost."""
