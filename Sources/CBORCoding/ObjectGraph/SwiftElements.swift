#if !canImport(Darwin)
  /// Swift's arrays, which are written without an `NSArray` made of them: that takes longer than all the rest.
  protocol SwiftElements {
    /// Writes a value whose type was found to be this one, as an array.
    static func write(_ value: Any, to archiver: CBORKeyedArchiver)
  }

  extension Array: SwiftElements {
    static func write(_ value: Any, to archiver: CBORKeyedArchiver) {
      let elements = payload(of: value, as: Self.self)
      archiver.writer.writeArrayHead(count: elements.count)
      if Element.self == String.self {
        for text in unsafeBitCast(elements, to: [String].self) { archiver.writer.writeText(text) }
      } else {
        for element in elements where archiver.failure == nil { archiver.write(element) }
      }
    }
  }
#endif
