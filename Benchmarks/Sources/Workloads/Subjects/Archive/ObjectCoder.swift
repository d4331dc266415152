import Foundation

protocol ObjectCoder: Sendable {
  var name: String { get }
  /// Divides the operations of a round, for a coder that would take too long.
  var slowness: Int { get }
  func encode(_ object: any NSCoding) throws -> Data
  func decode(from archive: Data) throws -> Any
}

extension ObjectCoder {
  var slowness: Int { 1 }
}

/// The measured coders, the project's own first.
enum ObjectCoders {
  static var all: [any ObjectCoder] {
    #if canImport(Darwin)
      // The cache uses Foundation's own archiver here.
      [KeyedArchives()]
    #else
      [CBORObjectCoder(), KeyedArchives()]
    #endif
  }
}
