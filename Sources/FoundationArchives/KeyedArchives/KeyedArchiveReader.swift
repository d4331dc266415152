#if !canImport(Darwin)
  package import Foundation
  package import FoundationObjects

  /// Reads archives of `NSKeyedArchiver` safely: `NSKeyedUnarchiver` on Linux trusts its input, and damaged or forged
  /// archives end the process.
  ///
  /// Here they are an error, within linear time and memory. ``FoundationDecoding`` creates Foundation's objects without
  /// their `init(coder:)`. Another class's `init(coder:)` should not force-unwrap decoded values: after the first error
  /// everything is nil, 0 or false.
  ///
  /// Strings, numbers and other values are Foundation objects, which cast to Swift types. A missing key is not an
  /// error. An object that indirectly refers to itself is one, because it exists in Swift only after its
  /// `init(coder:)`. Use a coder for one archive on one thread.
  package final class KeyedArchiveReader: NSCoder {
    /// The nesting limit, if the thread's stack allows.
    static let maximumDepth = 512

    enum State {
      case unread
      case beingRead
      case read(AnyObject, weight: Int, isFragile: Bool, levels: Int)
    }

    struct Frame {
      var fields: [String: Int32]
      var unkeyed = 0
    }

    let graph: KeyedArchiveGraph
    /// Allowed classes, including subclasses; `nil` for any. Strings, numbers and data are always allowed.
    let permitted: AllowedClasses?
    var states: [State]
    var frame: Frame
    var classes: [Int: KeyedArchiveClass] = [:]
    var depth = GraphDepth()
    private var nesting = Nesting(maximumDepth: KeyedArchiveReader.maximumDepth)
    var failure: (any Error)?
    var budget: ReadingBudget
    /// The remaining lookups: forged archives may refer to one large object, or one long key, many times. No genuine
    /// archive needs as many.
    private var lookups: Int
    private var isFinished = false

    /// - Throws: ``KeyedArchiveError`` if the data is not an archive.
    init(_ data: Data, permitted: [AnyClass]?) throws(KeyedArchiveError) {
      graph = try KeyedArchiveGraph(data)
      self.permitted = permitted.map { AllowedClasses($0) }
      states = Array(repeating: .unread, count: graph.objects.count)
      frame = Frame(fields: graph.top)
      budget = ReadingBudget(comparisons: 1 << 20 + 64 * graph.objects.count)
      lookups = 1 << 20 + 8 * data.count
      super.init()
    }

    /// Returns the root object, or `nil` if nil was archived.
    ///
    /// - Throws: The first error: a ``KeyedArchiveError`` unless an object reported its own.
    package static func root(of data: Data, permitted: [AnyClass]?) throws -> AnyObject? {
      let reader = try KeyedArchiveReader(data, permitted: permitted)
      defer { reader.isFinished = true }
      guard reader.containsValue(forKey: NSKeyedArchiveRootObjectKey) else {
        throw KeyedArchiveError("The archive has no root object.")
      }
      let object = reader.value(forKey: NSKeyedArchiveRootObjectKey)
      if let failure = reader.failure { throw failure }
      return object
    }

    var isReading: Bool { failure == nil && !isFinished }

    func fail(_ message: String) { if failure == nil { failure = KeyedArchiveError(message) } }

    func enter() throws(KeyedArchiveError) {
      if let tooDeep = nesting.check(depth.current + 1) { throw KeyedArchiveError("\(nesting.description(tooDeep)).") }
      depth.enter()
    }

    func leave() { depth.leave() }

    /// The fields of an object or a class description; `nil` for other nodes.
    func fields(of node: PropertyListNode) throws(KeyedArchiveError) -> [String: Int32]? {
      lookups -= 1 + graph.list.weight(node)
      guard lookups >= 0 else {
        throw KeyedArchiveError("The archive refers to its own parts more often than an archiver does.")
      }
      return graph.list.entries(node)
    }

    // MARK: NSCoder

    package override var allowsKeyedCoding: Bool { true }
    package override var requiresSecureCoding: Bool { false }
    package override var systemVersion: UInt32 { 2000 }
    package override var error: (any Error)? { failure }
    package override var allowedClasses: [AnyClass]? { permitted?.all }
    package override var decodingFailurePolicy: NSCoder.DecodingFailurePolicy { .setErrorAndReturn }
    package override func failWithError(_ error: any Error) { if failure == nil { failure = error } }
    package override func version(forClassName className: String) -> Int {
      KeyedArchiveClass.find(className) == nil ? NSNotFound : 0
    }

    package override func containsValue(forKey key: String) -> Bool { node(forKey: key) != nil }
    package override func decodeBool(forKey key: String) -> Bool { integer(forKey: key, UInt8.self, atMost: 1) == 1 }
    package override func decodeCInt(forKey key: String) -> Int32 { integer(forKey: key, Int32.self) }
    package override func decodeInt32(forKey key: String) -> Int32 { integer(forKey: key, Int32.self) }
    package override func decodeInt64(forKey key: String) -> Int64 { integer(forKey: key, Int64.self) }
    package override func decodeInteger(forKey key: String) -> Int { integer(forKey: key, Int.self) }
    package override func decodeFloat(forKey key: String) -> Float { Float(number(forKey: key)) }
    package override func decodeDouble(forKey key: String) -> Double { number(forKey: key) }
    package override func decodeObject(forKey key: String) -> Any? { value(forKey: key) }
    package override func decodePropertyList(forKey key: String) -> Any? { value(forKey: key) }

    package override func decodeObject<Object: NSObject & NSCoding>(of cls: Object.Type, forKey key: String) -> Object?
    {
      object(cls, forKey: key)
    }

    package override func decodeObject(of classes: [AnyClass]?, forKey key: String) -> Any? {
      guard let object = value(forKey: key) else { return nil }
      guard let classes, !classes.contains(where: { AllowedClasses($0).contains(type(of: object)) }) else {
        return object
      }
      fail("An object of class \(type(of: object)) was found under \(key), which is none of those asked for.")
      return nil
    }

    package override func withDecodedUnsafeBytes<Result>(
      forKey key: String, body: (UnsafeRawBufferPointer?) throws -> Result
    ) rethrows -> Result {
      guard let data = data(forKey: key) else { return try body(nil) }
      return try data.withUnsafeBytes { try body($0) }
    }

    @available(swift, deprecated: 9999, renamed: "withDecodedUnsafeBytes(forKey:body:)")
    package override func withDecodedUnsafeBufferPointer<Result>(
      forKey key: String, body: (UnsafeBufferPointer<UInt8>?) throws -> Result
    ) rethrows -> Result {
      guard let data = data(forKey: key) else { return try body(nil) }
      return try data.withUnsafeBytes { try body($0.assumingMemoryBound(to: UInt8.self)) }
    }

    // MARK: NSCoder, without keys: in the order of encoding. A value that is not there is an error.

    package override func decodeObject() -> Any? { nextNode().flatMap { value($0) } }
    package override func decodePropertyList() -> Any? { decodeObject() }
    package override func decodeData() -> Data? { nextNode().flatMap { data($0) } }

    /// Supports numbers, Booleans and objects, by Objective-C type letters.
    package override func decodeValue(ofObjCType type: UnsafePointer<CChar>, at address: UnsafeMutableRawPointer) {
      guard let node = nextNode() else { return }
      func store<I: FixedWidthInteger & BitwiseCopyable>(_: I.Type) {
        address.storeBytes(of: integer(node, I.self), as: I.self)
      }
      switch UInt8(bitPattern: type.pointee) {
      case UInt8(ascii: "c"): store(Int8.self)
      case UInt8(ascii: "C"), UInt8(ascii: "B"): store(UInt8.self)
      case UInt8(ascii: "s"): store(Int16.self)
      case UInt8(ascii: "S"): store(UInt16.self)
      case UInt8(ascii: "i"): store(Int32.self)
      case UInt8(ascii: "I"): store(UInt32.self)
      case UInt8(ascii: "l"), UInt8(ascii: "q"): store(Int64.self)
      case UInt8(ascii: "L"), UInt8(ascii: "Q"): store(UInt64.self)
      case UInt8(ascii: "f"): address.storeBytes(of: Float(number(node)), as: Float.self)
      case UInt8(ascii: "d"): address.storeBytes(of: number(node), as: Double.self)
      case UInt8(ascii: "["): readNumbers(String(cString: type), node, to: address)
      case UInt8(ascii: "@"): address.assumingMemoryBound(to: Any?.self).pointee = value(node)
      default: fail("Values of the Objective-C type \(String(cString: type)) are not read from keyed archives.")
      }
    }
  }

  extension KeyedArchiveReader {
    /// Sizes of the numeric Objective-C types that are supported.
    static let numberSizes: [UInt8: Int] = [
      UInt8(ascii: "c"): 1, UInt8(ascii: "C"): 1, UInt8(ascii: "B"): 1, UInt8(ascii: "s"): 2, UInt8(ascii: "S"): 2,
      UInt8(ascii: "i"): 4, UInt8(ascii: "I"): 4, UInt8(ascii: "f"): 4, UInt8(ascii: "q"): 8, UInt8(ascii: "Q"): 8,
      UInt8(ascii: "d"): 8,
    ]

    /// The numbers in a type such as `[6f]` or `f`; `nil` for other types.
    func numbers(in type: String) -> (element: UInt8, size: Int, count: Int)? {
      let parts = type.utf8.first == UInt8(ascii: "[") ? type.dropFirst().dropLast() : type[...]
      guard type.utf8.allSatisfy({ $0 < 0x80 }), let element = parts.utf8.last, let size = Self.numberSizes[element],
        case let digits = parts.dropLast(), let count = digits.isEmpty ? 1 : Int(digits),
        (1...graph.list.nodes.count).contains(count), digits.isEmpty == (parts.count == type.count)
      else { return nil }
      return (element, size, count)
    }

    /// Reads an array of numbers, a separate object.
    private func readNumbers(_ type: String, _ node: PropertyListNode, to address: UnsafeMutableRawPointer) {
      guard let numbers = numbers(in: type), case .uid(let number) = node, let object = try? graph.object(number),
        let fields = try? fields(of: object)
      else { return fail("There is something else where an array of numbers was asked for.") }
      let outer = frame
      frame = Frame(fields: fields)
      defer { frame = outer }
      guard integer(forKey: "NS.count", Int.self) == numbers.count,
        integer(forKey: "NS.type", UInt8.self) == numbers.element
      else { return fail("There is an array of other numbers than were asked for.") }
      let element = [CChar(bitPattern: numbers.element), 0]
      for index in 0..<numbers.count where isReading {
        decodeValue(ofObjCType: element, at: address + index * numbers.size)
      }
    }
  }

  extension KeyedArchiveReader: FoundationFields {
    package func spelling(of key: FieldKey) -> String { key.foundation }

    /// Allowed classes apply to the whole archive here.
    package func dictionary(allowing others: [AnyClass], forKey key: String) -> NSDictionary? {
      object(NSDictionary.self, forKey: key)
    }
  }
#endif
