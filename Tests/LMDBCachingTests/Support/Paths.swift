import Platform

/// Accesses files by path, independently of the cache's code.
enum Paths {
  static func canonicalPath(_ path: String) throws(SystemError) -> String { try Directory.canonicalPath(path) }

  static func create(_ path: String) throws(SystemError) { _ = try Directory(path: path, creating: true) }

  /// Empty if the directory does not exist.
  static func names(in path: String) throws(SystemError) -> [String] {
    try Directory(existing: path)?.names() ?? []
  }

  static func move(_ source: String, to destination: String) throws(SystemError) {
    if rename(source, destination) != 0 { throw SystemError("rename", destination) }
  }

  static func identity(of path: String) throws(SystemError) -> FileIdentity? { try Directory.identity(ofPath: path) }
}
