// The package's `Scripts/lib/documentation.sh` puts the documentation's blocks of Swift beside this file.
