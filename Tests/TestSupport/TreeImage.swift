import Foundation

/// A directory's names, kinds, modes, inodes and contents.
package struct TreeImage: Equatable, Sendable {
  private struct Node: Equatable {
    let kind: UInt32
    let mode: UInt32
    let inode: UInt64
    /// A file's bytes, or a link's target.
    let contents: Data
  }

  private var nodes: [String: Node] = [:]

  /// - Parameters:
  ///   - path: A directory or file. A missing one gives an empty image. Links are not followed.
  ///   - names: Files in the directory to leave out.
  package init(_ path: String, except names: Set<String> = []) throws {
    try add(path, as: ".")
    for name in names { nodes["./" + name] = nil }
  }

  private mutating func add(_ path: String, as name: String) throws {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      if errno == ENOENT { return }
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
    let kind = status.st_mode & S_IFMT
    var contents = Data()
    switch kind {
    case S_IFREG: contents = try Data(contentsOf: URL(fileURLWithPath: path))
    case S_IFLNK: contents = Data(try FileManager.default.destinationOfSymbolicLink(atPath: path).utf8)
    default: break
    }
    nodes[name] = Node(
      kind: UInt32(kind), mode: UInt32(status.st_mode & ~S_IFMT), inode: UInt64(status.st_ino), contents: contents)
    if kind == S_IFDIR {
      for child in try FileManager.default.contentsOfDirectory(atPath: path) {
        try add(path + "/" + child, as: name + "/" + child)
      }
    }
  }

  /// What has changed or gone since this image, ignoring new names.
  package func losses(in later: TreeImage) -> [String] {
    nodes.keys.sorted().compactMap { name in
      guard let was = nodes[name], let now = later.nodes[name] else { return "\(name) is gone" }
      if was.kind != now.kind { return "\(name) is another kind of file" }
      if was.contents != now.contents { return "\(name) was overwritten" }
      if was.inode != now.inode { return "\(name) is another file" }
      return was.mode != now.mode ? "\(name) has another mode" : nil
    }
  }

  /// The names that are new in `later`.
  package func additions(in later: TreeImage) -> [String] {
    later.nodes.keys.filter { nodes[$0] == nil }.sorted()
  }
}
