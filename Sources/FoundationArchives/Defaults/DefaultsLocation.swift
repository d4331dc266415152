import Foundation

/// Where Foundation keeps user defaults.
package enum DefaultsLocation {
  /// The file of a suite.
  package static func path(ofSuite name: String) -> String {
    #if canImport(Darwin)
      let directory = NSHomeDirectory() + "/Library/Preferences"
    #else
      let variable = ProcessInfo.processInfo.environment["XDG_CONFIG_HOME"]
      let directory = variable.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? NSHomeDirectory() + "/.config"
    #endif
    return "\(directory)/\(name).plist"
  }
}
