import LMDB
import Platform

// The one place where errors of the layers beneath become errors of the cache.

extension CacheError {
  static let closed = CacheError(.closed, "The cache is closed. Open the directory again to go on using it.")

  init(_ error: LMDBError, during activity: String) {
    let code: Code
    switch error.code {
    case .closed: code = .closed
    case .noSpace: code = .noSpace
    case .permissionDenied: code = .permissionDenied
    case .readOnlyFileSystem: code = .readOnlyFileSystem
    case .lockTimeout: code = .lockTimeout
    case .corrupted, .pageNotFound: code = .damagedDatabase
    case .invalid: code = .corruptedRecord
    case .foreignFile: code = .invalidDirectory
    default: code = .storageFailed
    }
    self.init(code, "\(activity) failed: \(error.message)", underlying: error)
  }
}

extension CacheError {
  /// Whether there was no room on the disk. LMDB takes a write that the disk's end cuts short for an I/O error.
  var isOfFullDisk: Bool {
    code == .noSpace || (underlying as? LMDBError)?.code == .ioError
      || code == .notCommitted && (underlying as? CacheError)?.isOfFullDisk ?? false
  }
}

/// Runs LMDB operations; the activity is named in the error.
@inline(__always)
func storing<R: ~Copyable>(
  _ activity: @autoclosure () -> String, _ body: () throws(LMDBError) -> R
) throws(CacheError) -> R {
  do throws(LMDBError) { return try body() } catch { throw CacheError(error, during: activity()) }
}

/// Runs system calls; the activity is named in the error.
@inline(__always)
func calling<R: ~Copyable>(
  _ activity: @autoclosure () -> String, _ body: () throws(SystemError) -> R
) throws(CacheError) -> R {
  do throws(SystemError) { return try body() } catch { throw CacheError(error, during: activity()) }
}

/// What `body` reads, or `nil` where the device does not give it (`EIO`): a block that cannot be read is not there the next
/// time either, so who waited for it would wait for good.
@inline(__always)
func ifReadable<R: ~Copyable>(_ body: () throws(SystemError) -> R) throws(SystemError) -> R? {
  do throws(SystemError) {
    return try body()
  } catch {
    if error.errno == EIO { return nil }
    throw error
  }
}

/// An outcome as a value, for closures that cannot throw.
@inline(__always)
func outcome<R, E: Error>(_ body: () throws(E) -> R) -> Result<R, E> {
  do throws(E) { return .success(try body()) } catch { return .failure(error) }
}
