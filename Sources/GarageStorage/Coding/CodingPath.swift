import Foundation

/// A coding path for messages: `.siblings[2].name`.
enum CodingPath {
  static func text(of path: [any CodingKey]) -> String {
    path.map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }.joined()
  }
}
