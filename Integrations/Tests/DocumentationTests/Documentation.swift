// The package's `Scripts/lib/documentation.sh` extracts the documentation's Swift blocks into this directory.
