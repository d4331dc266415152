#if !canImport(Darwin)
  import Foundation

  /// Swift collections, written without converting them to `NSArray`, which would dominate the cost.
  package protocol SwiftElements {
    static func write(_ value: Any, to archiver: CBORKeyedArchiver)
  }

  extension Array: SwiftElements {
    package static func write(_ value: Any, to archiver: CBORKeyedArchiver) {
      let elements = payload(of: value, as: Self.self)
      archiver.writer.writeArrayHead(count: elements.count)
      if Element.self == String.self {
        for text in unsafeBitCast(elements, to: [String].self) { archiver.writer.writeText(text) }
      } else {
        for element in elements where archiver.failure == nil { archiver.write(element) }
      }
    }
  }

  extension CBORKeyedArchiver {
    package func writeElement(_ value: Any) { write(value) }

    package func writeArray(count: Int, _ body: () -> Void) {
      guard enter(ClassTable.record(of: NSArray.self)) else { return }
      writer.writeArrayHead(count: count)
      body()
      leave()
    }

    /// Writes a dictionary whose `count` entries `body` writes, ordered by encoded key.
    package func writeDictionary(count: Int, _ body: () -> Void) {
      guard enter(ClassTable.record(of: NSDictionary.self)) else { return }
      writer.writeMapHead(count: count)
      body()
      leave()
    }
  }
#endif
