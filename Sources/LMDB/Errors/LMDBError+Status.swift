import CLMDB
import Platform

extension LMDBError {
  init(status: Int32, operation: Calls.Name) {
    self.init(code: Code(status: status), status: status, operation: operation.rawValue)
  }

  init(errno: Int32, operation: String) {
    self.init(code: Code(status: errno), status: errno, operation: operation)
  }

  /// The error for a failed system call, or for a file of the wrong kind.
  init(_ error: SystemError) {
    self.init(
      code: error.finding == nil ? Code(status: error.errno) : .foreignFile, status: error.errno,
      operation: error.operation, message: error.finding == nil ? nil : error.description)
  }
}

func system<R: ~Copyable>(_ body: () throws(SystemError) -> R) throws(LMDBError) -> R {
  do throws(SystemError) { return try body() } catch { throw LMDBError(error) }
}

extension LMDBError.Code {
  /// The only mapping of C statuses to codes.
  init(status: Int32) {
    self =
      switch status {
      case MDB_NOTFOUND: .notFound
      case MDB_KEYEXIST: .keyExists
      case MDB_MAP_FULL: .mapFull
      case MDB_MAP_RESIZED: .mapResized
      case MDB_READERS_FULL: .readersFull
      case MDB_DBS_FULL: .databasesFull
      case MDB_CORRUPTED: .corrupted
      case MDB_PANIC: .panic
      case MDB_VERSION_MISMATCH: .versionMismatch
      case MDB_INVALID: .invalid
      case MDB_BAD_TXN: .badTransaction
      case MDB_BAD_VALSIZE: .badValueSize
      case MDB_BAD_DBI: .badDatabase
      case MDB_BAD_RSLOT: .badReaderSlot
      case MDB_TXN_FULL: .transactionFull
      case MDB_PAGE_FULL, MDB_CURSOR_FULL: .pageFull
      case MDB_PAGE_NOTFOUND: .pageNotFound
      case MDB_INCOMPATIBLE: .incompatible
      case ENOSPC, EDQUOT, EFBIG: .noSpace
      case EIO: .ioError
      case EACCES, EPERM: .permissionDenied
      case EROFS: .readOnlyFileSystem
      case ENOENT: .noSuchFile
      case ENOMEM: .outOfMemory
      case EBUSY, EAGAIN: .busy
      case EINVAL: .invalidArgument
      default: .system(status)
      }
  }
}
