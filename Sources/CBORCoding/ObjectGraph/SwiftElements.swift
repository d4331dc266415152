#if !canImport(Darwin)
  import Foundation

  /// Swift's collections, which are written without an `NSArray` made of them: that takes longer than all the rest.
  package protocol SwiftElements {
    /// Writes a value whose type was found to be this one, as one item.
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
    /// Writes a value that is in a collection.
    package func writeElement(_ value: Any) { write(value) }

    /// Writes an array of so many elements, which `body` writes.
    package func writeArray(count: Int, _ body: () -> Void) {
      guard enter(ClassTable.record(of: NSArray.self)) else { return }
      writer.writeArrayHead(count: count)
      body()
      leave()
    }

    /// Writes a dictionary of so many entries, whose keys and values `body` writes, in the order of their encoded keys.
    package func writeDictionary(count: Int, _ body: () -> Void) {
      guard enter(ClassTable.record(of: NSDictionary.self)) else { return }
      writer.writeMapHead(count: count)
      body()
      leave()
    }
  }
#endif
