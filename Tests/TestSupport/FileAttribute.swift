import CTestSupport

package enum FileAttribute {
  /// Sets a user attribute. Returns `false` if the file system supports none.
  package static func set(_ name: String, to value: [UInt8], of path: String) -> Bool {
    #if os(Linux)
      let name = "user." + name
    #endif
    return ctestsupport_set_attribute(path, name, value, value.count) == 0
  }
}
