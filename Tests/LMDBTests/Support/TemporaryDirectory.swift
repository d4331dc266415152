import LMDB

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A temporary directory, removed with the object.
final class TemporaryDirectory: Sendable {
  /// Canonical.
  let path: String

  init() {
    var template = Array("/tmp/lmdb-test-XXXXXX".utf8CString)
    let made = template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!) != nil }
    precondition(made, "mkdtemp failed")
    let resolved = realpath(template, nil)!
    defer { free(resolved) }
    path = String(cString: resolved)
  }

  deinit {
    Self.remove(path)
  }

  func makeDirectory(_ name: String) -> String {
    let directory = path + "/" + name
    precondition(mkdir(directory, 0o700) == 0)
    return directory
  }

  static func remove(_ path: String) {
    if let stream = opendir(path) {
      while let entry = readdir(stream) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
          $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name == "." || name == ".." { continue }
        let child = path + "/" + name
        if unlink(child) != 0 {
          remove(child)
        }
      }
      closedir(stream)
    }
    rmdir(path)
  }

  /// Opens a small environment in it.
  func open(_ change: (inout Environment.Options) -> Void = { _ in }) throws(LMDBError) -> Environment {
    var options = Environment.Options()
    options.mapSize = 64 << 20
    options.syncMode = .noSync
    change(&options)
    return try Environment.open(directory: path, options: options)
  }
}
