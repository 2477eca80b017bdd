"""What publishing tables needs beside noise: unknown keys, ranges, quantiles, top k, tables that agree."""
