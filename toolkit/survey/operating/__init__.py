"""What an operator needs: a server in the foreground, a look from outside, and the end of what was collected."""
