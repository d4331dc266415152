import LMDB
import Platform

// The only place that converts errors of lower layers to cache errors.

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
  /// Whether the disk was full.
  var isOfFullDisk: Bool {
    code == .noSpace || code == .notCommitted && (underlying as? CacheError)?.isOfFullDisk ?? false
  }
}

@inline(__always)
func storing<R: ~Copyable>(
  _ activity: @autoclosure () -> String, _ body: () throws(LMDBError) -> R
) throws(CacheError) -> R {
  do throws(LMDBError) { return try body() } catch { throw CacheError(error, during: activity()) }
}

@inline(__always)
func calling<R: ~Copyable>(
  _ activity: @autoclosure () -> String, _ body: () throws(SystemError) -> R
) throws(CacheError) -> R {
  do throws(SystemError) { return try body() } catch { throw CacheError(error, during: activity()) }
}

/// Returns `nil` for an unreadable block (`EIO`): it stays so, and retrying would never end.
@inline(__always)
func ifReadable<R: ~Copyable>(_ body: () throws(SystemError) -> R) throws(SystemError) -> R? {
  do throws(SystemError) {
    return try body()
  } catch {
    if error.errno == EIO { return nil }
    throw error
  }
}

@inline(__always)
func outcome<R, E: Error>(_ body: () throws(E) -> R) -> Result<R, E> {
  do throws(E) { return .success(try body()) } catch { return .failure(error) }
}
