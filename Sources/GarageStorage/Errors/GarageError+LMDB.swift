import LMDB

// The only conversion of LMDB's errors to the garage's.

extension GarageError {
  static func storageFailed(_ error: LMDBError) -> GarageError {
    switch error.code {
    case .corrupted, .pageNotFound:
      GarageError(
        .damagedStore,
        "The garage's file is damaged: \(error.message) Close the garage, and put a backup of its directory in its "
          + "place; mdb_copy and mdb_dump may save what can be read. Nothing was removed.", underlying: error)
    default: GarageError(.storageFailed, "The store failed: \(error.message)", underlying: error)
    }
  }
}
