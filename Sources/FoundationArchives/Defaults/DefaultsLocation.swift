import Foundation
import Platform

/// Where Foundation keeps user defaults.
package enum DefaultsLocation {
  /// The file of a suite.
  package static func path(ofSuite name: String) -> String {
    #if canImport(Darwin)
      let directory = NSHomeDirectory() + "/Library/Preferences"
    #else
      let directory = BaseDirectory.configuration.path()
    #endif
    return "\(directory)/\(name).plist"
  }
}
