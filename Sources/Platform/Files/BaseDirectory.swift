/// A user directory of the XDG base directory specification.
package enum BaseDirectory: String, Sendable {
  case caches = "XDG_CACHE_HOME"
  case configuration = "XDG_CONFIG_HOME"
  case data = "XDG_DATA_HOME"

  /// The path in the directory's variable, or its standard place in the home directory.
  package func path(_ variable: (String) -> String? = Self.variable) -> String {
    let standard =
      switch self {
      case .caches: "/.cache"
      case .configuration: "/.config"
      case .data: "/.local/share"
      }
    return Self.absolutePath(variable(rawValue)) ?? Self.home(variable) + standard
  }

  /// The home directory: `$HOME` before the password database, like shells and Foundation's user defaults.
  package static func home(_ variable: (String) -> String? = Self.variable) -> String {
    absolutePath(variable("HOME")) ?? registeredHome ?? ""
  }

  package static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  /// The specification ignores relative paths.
  private static func absolutePath(_ path: String?) -> String? { path.flatMap { $0.hasPrefix("/") ? $0 : nil } }

  private static var registeredHome: String? {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16_384) { buffer in
      guard getpwuid_r(getuid(), &entry, buffer.baseAddress!, buffer.count, &found) == 0, found != nil else {
        return nil
      }
      return entry.pw_dir.map { String(cString: $0) }
    }
  }
}
