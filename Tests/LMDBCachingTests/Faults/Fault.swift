import LMDB
import LMDBCaching
import TestSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A status that C functions return, and the code of the resulting ``CacheError``.
struct Failure: Sendable, Hashable, CustomStringConvertible {
  let description: String
  let status: Int32
  let code: CacheError.Code
  /// A single one is retried, without an error or a report in `health`.
  var isRetried = false
  /// The database is out of service until it is opened again.
  var isDamage = false
  /// A part of the bytes reaches the file.
  var isTorn = false

  /// Whether every call may fail. The others end only because the retry succeeds.
  var mayLast: Bool { self != .interrupted && self != .mapFull && self != .readerSlotLost }

  private init(
    _ description: String, _ status: Int32, _ code: CacheError.Code, isRetried: Bool = false, isDamage: Bool = false,
    isTorn: Bool = false
  ) {
    self.description = description
    self.status = status
    self.code = code
    self.isRetried = isRetried
    self.isDamage = isDamage
    self.isTorn = isTorn
  }

  static let noSpace = Failure("ENOSPC", ENOSPC, .noSpace)
  static let overQuota = Failure("EDQUOT", EDQUOT, .noSpace)
  static let device = Failure("EIO", EIO, .storageFailed)
  static let torn = Failure("EIO after a part", EIO, .storageFailed, isTorn: true)
  static let tornByFullDisk = Failure("ENOSPC after a part", ENOSPC, .noSpace, isTorn: true)
  static let processFiles = Failure("EMFILE", EMFILE, .storageFailed)
  static let systemFiles = Failure("ENFILE", ENFILE, .storageFailed)
  static let access = Failure("EACCES", EACCES, .permissionDenied)
  static let permission = Failure("EPERM", EPERM, .permissionDenied)
  static let readOnly = Failure("EROFS", EROFS, .readOnlyFileSystem)
  static let memory = Failure("ENOMEM", ENOMEM, .storageFailed)
  static let unsupported = Failure("EOPNOTSUPP", EOPNOTSUPP, .storageFailed)
  static let locks = Failure("ENOLCK", ENOLCK, .storageFailed)
  static let interrupted = Failure("EINTR", EINTR, .storageFailed, isRetried: true)
  static let mapFull = Failure("MDB_MAP_FULL", -30792, .storageFailed, isRetried: true)
  static let mapResized = Failure("MDB_MAP_RESIZED", -30785, .storageFailed, isRetried: true)
  static let readersFull = Failure("MDB_READERS_FULL", -30790, .storageFailed)
  static let readerSlotLost = Failure("MDB_BAD_RSLOT", -30783, .storageFailed, isRetried: true)
  static let panic = Failure("MDB_PANIC", -30795, .storageFailed)
  static let transactionFull = Failure("MDB_TXN_FULL", -30788, .storageFailed)
  static let corrupted = Failure("MDB_CORRUPTED", -30796, .damagedDatabase, isDamage: true)
  static let pageNotFound = Failure("MDB_PAGE_NOTFOUND", -30797, .damagedDatabase, isDamage: true)

  /// The failures that the documentation of each function names.
  static func all(of call: FaultInjection.Call) -> [Failure] {
    switch call {
    case .openat: [.processFiles, .systemFiles, .access, .device, .memory, .interrupted]
    case .mkdirat, .renameat, .unlinkat: [.noSpace, .overQuota, .access, .permission, .readOnly, .device]
    case .fstat, .fstatat: [.device, .memory]
    case .pread: [.device, .interrupted]
    case .pwrite, .write: [.noSpace, .overQuota, .device, .torn, .tornByFullDisk, .interrupted, .readOnly]
    case .ftruncate, .fallocate: [.noSpace, .overQuota, .device, .interrupted]
    case .punchHole: [.unsupported, .device]
    case .fsync, .syncfs: [.device, .noSpace, .overQuota]
    case .flock: [.interrupted, .device, .locks]
    case .mmap: [.memory, .access]
    case .envOpen: [.processFiles, .access, .device, .noSpace, .readOnly, .memory]
    case .envSync: [.device, .noSpace]
    case .readerCheck, .readerList: [.device, .memory]
    case .txnBegin: [.memory, .device, .readersFull, .mapResized, .panic]
    case .txnRenew: [.device, .readerSlotLost, .panic]
    case .txnCommit: [.noSpace, .overQuota, .device, .memory, .mapFull]
    case .put, .del, .drop, .cursorPut, .cursorDel:
      [.mapFull, .transactionFull, .noSpace, .device, .memory, .corrupted]
    case .get, .cursorOpen, .cursorGet, .stat, .dbiOpen: [.corrupted, .pageNotFound, .memory, .device]
    case "fcntl(F_OFD_SETLK)": [.locks]
    case "fgetxattr": []
    case "fstatvfs", "fstatfs": [.device]
    default: [.memory]
    }
  }

  /// The calls without which an entry may not be readable.
  static let ofReading: Set<FaultInjection.Call> = [
    .openat, .fstat, .fstatat, .pread, .mmap, .envInfo, .txnBegin, .txnRenew, .get, .cursorOpen, .cursorGet, .stat,
    .dbiOpen,
  ]

  /// The calls without which nothing is committed, or safe from a power cut.
  static let ofCommitting: Set<FaultInjection.Call> = [
    .txnBegin, .cursorPut, .put, .txnCommit, .envSync, .fsync, .syncfs,
  ]
}

/// A failure of one or more calls during an operation.
struct Fault: Sendable, CustomStringConvertible {
  let call: FaultInjection.Call
  let failure: Failure
  /// The number of the first call that fails; 1 is the operation's first.
  let first: Int
  /// Whether all later calls fail, too.
  let isLasting: Bool

  /// Whether the operation must succeed as if nothing had happened.
  var isUnnoticed: Bool { failure.isRetried && !isLasting }

  var description: String {
    "\(call.rawValue) #\(first)\(isLasting ? " and all later ones" : ""): \(failure)"
  }

  var rule: FaultInjection.Rule {
    let failure = failure
    let isOfLock = call == .flock
    return FaultInjection.Rule(call, returns: failure.status, first: first, count: isLasting ? .max : 1) { path in
      // The lock of the writer, which cannot fail to be released.
      if isOfLock, path?.hasSuffix("/data.mdb") == true { return false }
      if failure.isTorn { tear(path) }
      return true
    }
  }
}

/// Appends a part of a value to a file of the value log, the only files that grow by writes.
private func tear(_ path: String?) {
  guard let path, path.contains("/values/") else { return }
  let file = open(path, O_WRONLY | O_APPEND)
  guard file >= 0 else { return }
  let part = [UInt8](repeating: 0xA5, count: 999)
  _ = write(file, part, part.count)
  close(file)
}
