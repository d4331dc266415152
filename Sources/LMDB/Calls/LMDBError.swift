import CLMDB
import Platform

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A failure in LMDB, or in a system call made for it.
///
/// Match on ``code``; ``message`` is for people and says how to recover. "Not found" is never an error in this module:
/// lookups return `nil` or `false` instead.
public struct LMDBError: LocalizedError, Sendable, Equatable, CustomStringConvertible {
  /// The kind of failure.
  public var code: Code

  /// The status that the C function returned: an `MDB_*` code (negative), an `errno` (positive), or 0 for a failure
  /// that this module detected.
  public var status: Int32

  /// The C function that failed, for example `mdb_txn_begin`, or the Swift function for this module's own errors.
  public var operation: String

  /// The failure's meaning and how the caller can recover.
  public var message: String

  package init(code: Code, status: Int32 = 0, operation: String, message: String? = nil) {
    self.code = code
    self.status = status
    self.operation = operation
    self.message = message ?? code.remedy
  }

  public var errorDescription: String? { message }
  public var description: String { "\(operation): \(message) \(identification)" }

  /// The operation and status without the message.
  package var origin: String { "\(operation) \(identification)" }

  private var identification: String { status == 0 ? "[\(code)]" : "[\(code), status \(status)]" }
}

extension LMDBError {
  /// The kind of an ``LMDBError``. A struct, so that a new kind does not break a caller's `switch`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    let remedy: String

    private init(_ description: String, _ remedy: String) {
      self.description = description
      self.remedy = remedy
    }

    /// A key is not there (`MDB_NOTFOUND`), where it had to be.
    public static let notFound = Code("notFound", "The key does not exist.")
    /// The map has no free page left (`MDB_MAP_FULL`).
    public static let mapFull = Code(
      "mapFull", "The map is full. Abort, then remove entries or grow the map, and retry the whole transaction.")
    /// Another process grew the file beyond this map, and the map could not follow (`MDB_MAP_RESIZED`).
    package static let mapResized = Code(
      "mapResized", "Another process grew the file beyond this map. Retry; close and reopen if it persists.")
    /// The reader table, which all processes share, is full (`MDB_READERS_FULL`).
    public static let readersFull = Code(
      "readersFull",
      "The reader table is full: the processes that share it have too many snapshots open at once. End some, which "
        + "Environment.readers() lists, or raise maxReaders in all of them and close the environment everywhere.")
    /// More named databases than ``Environment/Options/maxDatabases`` (`MDB_DBS_FULL`).
    public static let databasesFull = Code(
      "databasesFull", "Too many named databases. Open the environment with a larger maxDatabases.")
    /// A page is missing or damaged (`MDB_CORRUPTED`, `MDB_PAGE_NOTFOUND`).
    public static let corrupted = Code("corrupted", "The file is damaged. Set it aside and rebuild it.")
    /// The environment had a fatal error before and cannot be used any more (`MDB_PANIC`).
    package static let panic = Code(
      "panic", "The environment failed fatally. Close it in every process and open it again.")
    /// The file belongs to another version of LMDB (`MDB_VERSION_MISMATCH`).
    package static let versionMismatch = Code(
      "versionMismatch", "The file was written by another version of LMDB. Use that version, or rebuild the file.")
    /// The file is not an LMDB file (`MDB_INVALID`).
    public static let invalid = Code("invalid", "This is not an LMDB file. Set it aside, or choose another directory.")
    /// The transaction failed before and can only be aborted (`MDB_BAD_TXN`).
    public static let badTransaction = Code(
      "badTransaction", "The transaction has failed before. Abort it and retry the whole transaction.")
    /// A key is empty or too long, or a value too large (`MDB_BAD_VALSIZE`).
    public static let badValueSize = Code(
      "badValueSize", "Keys are 1 to maxKeySize bytes long, and values shorter than 4 GiB.")
    /// The transaction has too many dirty pages (`MDB_TXN_FULL`).
    public static let transactionFull = Code(
      "transactionFull", "The transaction changes too much at once. Abort it and write in smaller batches.")
    /// The operation does not fit the database's flags (`MDB_INCOMPATIBLE`).
    package static let incompatible = Code("incompatible", "The database has flags that do not allow this operation.")
    /// The disk or the quota is full (`ENOSPC`, `EDQUOT`), or the file would exceed `ulimit -f` (`EFBIG`).
    public static let noSpace = Code(
      "noSpace",
      "The disk or the quota is full, or a limit of file sizes (ulimit -f) is reached. Free some space or raise "
        + "the limit, and retry the whole transaction.")
    /// The device failed (`EIO`).
    package static let ioError = Code("ioError", "The storage device failed. Check the disk.")
    /// Not permitted, or a write to a read-only environment (`EACCES`, `EPERM`).
    public static let permissionDenied = Code(
      "permissionDenied", "Permission denied. Check the owner and mode of the directory and of its files.")
    /// The file system is read-only (`EROFS`).
    public static let readOnlyFileSystem = Code(
      "readOnlyFileSystem", "The file system is read-only. Open the environment read-only, or choose another place.")
    /// The directory or a file is not there (`ENOENT`).
    public static let noSuchFile = Code(
      "noSuchFile", "The directory or a file in it does not exist. Create the directory first.")
    /// No memory or no address space (`ENOMEM`).
    public static let outOfMemory = Code(
      "outOfMemory", "Not enough memory or address space. Use a smaller map, or raise the limit (ulimit -v).")
    /// Something else holds what the operation needs, and did not let go in time (`EBUSY`, `EAGAIN`, or found here).
    public static let busy = Code("busy", "Something else was in the way for too long. Retry later.")
    /// An argument is not valid (`EINVAL`).
    public static let invalidArgument = Code("invalidArgument", "An argument is not valid.")
    /// The environment was closed.
    public static let closed = Code("closed", "The environment is closed. Open it again.")
    /// Every reader slot of the pool was busy for the whole waiting time.
    public static let unavailableReaderSlot = Code(
      "unavailableReaderSlot",
      "All reader slots stayed busy. Keep reads short, do not nest them, or use a larger readerPoolSize.")
    /// The environment is open already, with options that contradict these.
    public static let otherEnvironmentOptions = Code(
      "otherEnvironmentOptions",
      "This process has the environment open with other options. Use the same options, or close it first.")
    /// The data file was deleted or replaced while the environment is open.
    public static let fileReplaced = Code(
      "fileReplaced",
      "The data file was deleted or replaced while it is open. Close every use of the environment, then reopen it.")
    /// Another process has a lock of the file, and did not let go in time: it is suspended, say.
    public static let lockTimeout = Code(
      "lockTimeout",
      "Another process holds a lock of the file and does not let go. Continue it if it is suspended, or end it.")

    /// A name of LMDB's stands for a link, a FIFO or something else that is no regular file, or for a file that has
    /// other names (hard links), and so is somebody else's, too. It was not touched.
    public static let foreignFile = Code(
      "foreignFile",
      "A file of LMDB's is a link, is no regular file, or has other names. Remove it, or choose another directory.")

    /// Any other `errno`.
    public static func system(_ errno: Int32) -> Code {
      Code("system(\(errno))", "The system reported error \(errno).")
    }
  }
}

extension LMDBError {
  init(status: Int32, operation: FaultInjection.Call) {
    self.init(code: Code(status: status), status: status, operation: operation.rawValue)
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
      case MDB_MAP_FULL: .mapFull
      case MDB_MAP_RESIZED: .mapResized
      case MDB_READERS_FULL: .readersFull
      case MDB_DBS_FULL: .databasesFull
      case MDB_CORRUPTED, MDB_PAGE_NOTFOUND: .corrupted
      case MDB_PANIC: .panic
      case MDB_VERSION_MISMATCH: .versionMismatch
      case MDB_INVALID: .invalid
      case MDB_BAD_TXN: .badTransaction
      case MDB_BAD_VALSIZE: .badValueSize
      case MDB_TXN_FULL: .transactionFull
      case MDB_INCOMPATIBLE: .incompatible
      case ENOSPC, EDQUOT, EFBIG: .noSpace
      case EIO: .ioError
      case EACCES, EPERM: .permissionDenied
      case EROFS: .readOnlyFileSystem
      case ENOENT: .noSuchFile
      case ENOMEM: .outOfMemory
      case EBUSY, EAGAIN: .busy
      case EINVAL, MDB_BAD_DBI: .invalidArgument
      default: .system(status)
      }
  }
}
