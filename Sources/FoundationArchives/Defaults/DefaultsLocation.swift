import Foundation
import Platform

package enum DefaultsLocation {
  package static func path(ofSuite name: String) -> String {
    #if canImport(Darwin)
      let directory = NSHomeDirectory() + "/Library/Preferences"
    #else
      let directory = BaseDirectory.configuration.path()
    #endif
    return "\(directory)/\(name).plist"
  }
}
