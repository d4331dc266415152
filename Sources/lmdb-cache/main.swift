print("lmdb-cache")
