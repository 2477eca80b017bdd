"""Totals that are published every period under a ledger, and the file that lets one outlive its process."""
