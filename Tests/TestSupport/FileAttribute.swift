import CTestSupport

/// Extended attributes of files.
package enum FileAttribute {
  /// Sets one of the user's. Returns `false` where the file system has no such attributes.
  package static func set(_ name: String, to value: [UInt8], of path: String) -> Bool {
    #if os(Linux)
      let name = "user." + name
    #endif
    return ctestsupport_set_attribute(path, name, value, value.count) == 0
  }
}
