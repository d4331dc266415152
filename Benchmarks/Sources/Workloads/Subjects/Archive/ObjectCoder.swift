import Foundation

/// Archives any NSCoding object.
protocol ObjectCoder: Sendable {
  var name: String { get }
  /// How many times fewer operations it does in a round than the others, for one that would take too long otherwise.
  var slowness: Int { get }
  func encode(_ object: any NSCoding) throws -> Data
  func decode(from archive: Data) throws -> Any
}

extension ObjectCoder {
  var slowness: Int { 1 }
}

/// Those that are measured, the project's own first.
enum ObjectCoders {
  static var all: [any ObjectCoder] {
    #if canImport(Darwin)
      // Where Foundation's own archiver is what the cache uses.
      [KeyedArchives()]
    #else
      [CBORObjectCoder(), KeyedArchives()]
    #endif
  }
}
