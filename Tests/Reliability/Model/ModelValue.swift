import Foundation

enum ModelValue: Equatable {
  case text(String)
  case data(Data)
  case number(Int)
  /// A Foundation object, through YYCache's functions.
  case object([String])

  /// The length of the archive in bytes; nil if unknown.
  var size: Int? {
    switch self {
    case .text(let text): text.utf8.count
    case .data(let data): data.count
    case .number: 8
    case .object: nil
    }
  }

  var object: NSArray? {
    if case .object(let words) = self { NSArray(array: words.map { NSString(string: $0) }) } else { nil }
  }
}
