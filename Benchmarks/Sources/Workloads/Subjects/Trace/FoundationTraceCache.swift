import Foundation

/// NSCache, whose keys and values are objects.
final class FoundationTraceCache: TraceSubject {
  static let name = "Foundation.NSCache"
  private let values = NSCache<NSNumber, NSNumber>()

  init(capacity: Int) { values.countLimit = capacity }

  func contains(_ key: UInt32) -> Bool { values.object(forKey: NSNumber(value: key))?.uint32Value == key }
  func insert(_ key: UInt32) { values.setObject(NSNumber(value: key), forKey: NSNumber(value: key)) }
}
