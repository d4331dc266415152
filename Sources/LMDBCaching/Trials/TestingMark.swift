import Platform

package enum TestingMark {
  /// Marks damaged files as sound, as if a medium had changed them without the system's knowledge.
  package static func write(in path: String, durability: Durability = .ordered) throws(CacheError) {
    try calling("Marking \(path)") { () throws(SystemError) in
      _ = try CleanExitMark.write(in: Directory(path: path), durability: durability, .disk, wasVerified: true)
    }
  }
}
