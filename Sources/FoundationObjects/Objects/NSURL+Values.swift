package import Foundation

extension NSURL {
  /// The same as a Swift value, or `nil` if it holds what `URL` does not take: to cast it would end the process on Linux.
  package var swiftValue: URL? { URL(string: relativeString, relativeTo: baseURL) }

  /// Returns a URL, or `nil` if the text is none or the base cannot be one.
  package static func checked(_ text: String, relativeTo base: NSURL?) -> NSURL? {
    guard let base else { return NSURL(string: text) }
    return base.swiftValue.flatMap { NSURL(string: text, relativeTo: $0) }
  }
}
