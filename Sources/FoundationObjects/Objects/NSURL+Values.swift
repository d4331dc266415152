package import Foundation

extension NSURL {
  /// The URL as a Swift value, or `nil` if `URL` cannot hold it: a cast would end the process on Linux.
  package var swiftValue: URL? { URL(string: relativeString, relativeTo: baseURL) }

  /// A URL, or `nil` if the text or the base is invalid.
  package static func checked(_ text: String, relativeTo base: NSURL?) -> NSURL? {
    guard let base else { return NSURL(string: text) }
    return base.swiftValue.flatMap { NSURL(string: text, relativeTo: $0) }
  }
}
