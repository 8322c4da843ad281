"""What Jia et al. (2019) and Yi et al. (2020) report, beside simulated steps."""
