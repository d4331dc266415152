import Foundation

extension RetrievalSession {
  func date(_ decoder: TreeDecoder) throws -> Date {
    guard let dates else { return try Self.date(from: decoder) }
    switch dates {
    case .deferredToDate: return try Date(from: decoder)
    case .secondsSince1970: return Date(timeIntervalSince1970: try decoder.scalar(Double.self))
    case .millisecondsSince1970: return Date(timeIntervalSince1970: try decoder.scalar(Double.self) / 1_000)
    case .iso8601:
      let text = try decoder.scalar(String.self)
      guard let date = ISODate.date(of: text) else { throw decoder.corrupted("\"\(text)\" is not a date of ISO 8601") }
      return date
    // On other platforms it is `.custom`.
    #if canImport(Darwin)
      case .formatted(let formatter):
        let text = try decoder.scalar(String.self)
        guard let date = formatter.date(from: text) else {
          throw decoder.corrupted("\"\(text)\" has not the format of the date strategy")
        }
        return date
    #endif
    case .custom(let decode): return try decode(decoder)
    @unknown default: return try Self.date(from: decoder)
    }
  }

  /// A date in the garage's own form, or in the original's for mapped objects.
  static func date(from decoder: any Decoder) throws -> Date {
    if let tree = decoder as? TreeDecoder, let text = tree.json.originalDate, let date = ISODate.date(of: text) {
      return date
    }
    return try ISODate.decode(from: decoder)
  }
}
