#if !canImport(Darwin)
  public import Foundation
  import FoundationObjects

  /// Reads the archives of ``CBORKeyedArchiver``. Replaces `NSKeyedUnarchiver`.
  ///
  /// The whole archive is checked before use; forged or damaged bytes are an error and never end the process. A class's
  /// `init(coder:)` should not force-unwrap decoded values: after the first error every value is nil, 0 or false.
  ///
  /// **Errors.** The first error is in ``error``, and is thrown by the methods that decode a root. A missing key is not
  /// an error: the value is nil, 0 or false. A value of another kind is an error unless the conversion is lossless:
  /// integers, integral floating-point numbers and Booleans are read as each other.
  ///
  /// **Secure coding.** With ``requiresSecureCoding`` only objects of the requested classes and their subclasses are
  /// created, in collections, too, which may always hold strings, numbers and data. A method without a class uses those
  /// of the enclosing object or collection.
  ///
  /// **Cycles.** An object exists in Swift once its `init(coder:)` has returned. An earlier reference to it is an error
  /// that names the path. Decode mutual references with ``decodeObject(forKey:whenDecoded:)``. Mutable arrays and
  /// dictionaries that contain themselves are read, except under secure coding, where comparing them would never end.
  ///
  /// Use a coder for one archive on one thread.
  public final class CBORKeyedUnarchiver: NSCoder {
    // Unchecked: no access runs foreign code.
    var bytes: CBORBytes
    @safe @exclusivity(unchecked) var fields: FieldCursor
    var shared: SharedValues
    var allowed = AllowedClasses.none
    @safe @exclusivity(unchecked) var depth = GraphDepth()
    @safe @exclusivity(unchecked) var nesting = Nesting(maximumDepth: ObjectGraph.maximumDepth)
    var failure: (any Error)?
    var names = ClassNameMap()
    @safe @exclusivity(unchecked) var budget: ReadingBudget
    /// Whether an object that is not an `NSObject` was read: Foundation's collections need it wrapped.
    var hasForeignObjects = false
    private var isFinished = false
    private var isSecure = true
    /// The copy being read; `nil` if the bytes are borrowed.
    private let owned: CBORWriter?

    /// Reads a copy of an archive. ``requiresSecureCoding`` is initially true.
    ///
    /// - Throws: ``CBORCodingError/Code/malformed`` if the data is not a complete archive.
    public convenience init(forReadingFrom data: Data) throws {
      var copy = CBORWriter(capacity: data.count)
      data.bytes.withBytes { copy.append($0) }
      try self.init(copy.withBytes { $0 }, owned: copy)
    }

    private init(_ bytes: CBORBytes, owned: consuming CBORWriter?) throws(CBORCodingError) {
      self.owned = owned
      self.bytes = bytes
      budget = ReadingBudget(comparisons: 1 << 23 + 64 * bytes.count)
      fields = FieldCursor(start: 0, count: 0)
      shared = SharedValues(offsets: [])
      super.init()
      do throws(CBORError) {
        let scan = try ArchiveScan(bytes)
        if !scan.sharedOffsets.isEmpty { shared = SharedValues(offsets: scan.sharedOffsets) }
        var reader = CBORReader(bytes)
        guard let count = try reader.readMapHead() else { throw CBORError(.unexpectedItem, at: 0) }
        fields = FieldCursor(start: reader.offset, count: count)
      } catch {
        throw CBORCodingError(error, "The bytes are no archive of objects, or not a whole one.")
      }
    }

    /// Calls `body` with an unarchiver that borrows the bytes. If it escapes, it reads nothing more.
    package static func read<R>(
      _ bytes: UnsafeRawBufferPointer, _ body: (CBORKeyedUnarchiver) throws -> R
    ) throws -> R {
      let unarchiver = try unsafe CBORKeyedUnarchiver(CBORBytes(bytes), owned: nil)
      defer { unarchiver.invalidate() }
      return try body(unarchiver)
    }

    private func invalidate() {
      isFinished = true
      bytes = .none
      fields = FieldCursor(start: 0, count: 0)
    }

    /// Returns an archive's root object of a class or its subclass, or `nil` if nil was archived.
    ///
    /// - Throws: The first error: a ``CBORCodingError`` unless an object reported its own.
    public static func unarchivedObject<Object: NSObject & NSCoding>(
      ofClass cls: Object.Type, from data: Data
    ) throws -> Object? {
      guard let object = try unarchivedObject(ofClasses: [cls], from: data) else { return nil }
      guard let typed = object as? Object else {
        throw CBORCodingError(.typeMismatch, "The root is a \(type(of: object)), not a \(cls).")
      }
      return typed
    }

    /// Returns an archive's root object of one of the classes or their subclasses, or `nil` if nil was archived.
    ///
    /// - Throws: As ``unarchivedObject(ofClass:from:)``.
    public static func unarchivedObject(ofClasses classes: [AnyClass], from data: Data) throws -> Any? {
      try unsafe data.withUnsafeBytes { bytes in try unsafe read(bytes) { try $0.root(of: classes) } }
    }

    /// Ends decoding. Later calls read nothing.
    public func finishDecoding() { isFinished = true }

    /// Sets the class that reads objects archived under a name, in this unarchiver.
    public func setClass(_ cls: AnyClass?, forClassName codedName: String) { names[class: codedName] = cls }

    /// Sets the class that reads objects archived under a name, in all unarchivers of the process. An unarchiver's own
    /// setting takes precedence.
    public static func setClass(_ cls: AnyClass?, forClassName codedName: String) {
      ClassNameMap.unarchiving.change { $0[class: codedName] = cls }
    }

    static func `class`(forClassName codedName: String) -> AnyClass? {
      ClassNameMap.unarchiving.read { $0[class: codedName] }
    }

    /// Decodes an object and calls `completion`, immediately or once the object's `init(coder:)` has returned. Use it
    /// for objects that refer to each other:
    ///
    /// ```swift
    /// (coder as? CBORKeyedUnarchiver)?.decodeObject(forKey: "parent") { [weak self] in self?.parent = $0 as? Parent }
    /// ```
    ///
    /// Under secure coding, uses the classes allowed at the time of the call.
    public func decodeObject(forKey key: String, whenDecoded completion: @escaping (Any?) -> Void) {
      decodeValue(forKey: key, whenDecoded: completion)
    }

    // MARK: NSCoder

    public override var allowsKeyedCoding: Bool { true }
    public override var error: (any Error)? { failure }
    public override var allowedClasses: [AnyClass]? { isSecure ? allowed.all : nil }

    public override var requiresSecureCoding: Bool {
      get { isSecure }
      set { isSecure = newValue }
    }

    /// Always `.setErrorAndReturn`, as Linux has no exceptions. Setting it has no effect.
    public override var decodingFailurePolicy: NSCoder.DecodingFailurePolicy {
      get { .setErrorAndReturn }
      set {}
    }

    /// Records the first error; all values decoded afterwards are nil, 0 or false.
    public override func failWithError(_ error: any Error) { if failure == nil { failure = error } }

    /// 0, or `NSNotFound` for an unknown class: archives have no class versions.
    public override func version(forClassName className: String) -> Int {
      let isNamed = names[class: className] != nil || Self.class(forClassName: className) != nil
      return isNamed || ClassName.isKnown(className) ? 0 : NSNotFound
    }

    public override func containsValue(forKey key: String) -> Bool { locate(key) != nil }
    public override func decodeBool(forKey key: String) -> Bool { integer(forKey: key, UInt8.self, atMost: 1) == 1 }
    public override func decodeCInt(forKey key: String) -> Int32 { integer(forKey: key, Int32.self) }
    public override func decodeInt32(forKey key: String) -> Int32 { integer(forKey: key, Int32.self) }
    public override func decodeInt64(forKey key: String) -> Int64 { integer(forKey: key, Int64.self) }
    public override func decodeInteger(forKey key: String) -> Int { integer(forKey: key, Int.self) }
    public override func decodeFloat(forKey key: String) -> Float { Float(number(forKey: key)) }
    public override func decodeDouble(forKey key: String) -> Double { number(forKey: key) }
    public override func decodeObject(forKey key: String) -> Any? { value(forKey: key, of: nil) }
    public override func decodePropertyList(forKey key: String) -> Any? { value(forKey: key, of: Self.propertyList) }

    public override func decodeObject<Object: NSObject & NSCoding>(
      of cls: Object.Type, forKey key: String
    ) -> Object? {
      guard let offset = locate(key), let object = value(at: offset, of: AllowedClasses(cls)) else { return nil }
      if let typed = object as? Object { return typed }
      failForClass(of: object, cls, at: offset)
      return nil
    }

    public override func decodeObject(of classes: [AnyClass]?, forKey key: String) -> Any? {
      value(forKey: key, of: classes.map { AllowedClasses($0) })
    }

    /// Lends bytes that were encoded as bytes or as data to `body`, or `nil` if the key is missing.
    public override func withDecodedUnsafeBytes<Result>(
      forKey key: String, body: (UnsafeRawBufferPointer?) throws -> Result
    ) rethrows -> Result {
      try unsafe body(byteString(forKey: key)?.pointer)
    }

    @available(swift, deprecated: 9999, renamed: "withDecodedUnsafeBytes(forKey:body:)")
    public override func withDecodedUnsafeBufferPointer<Result>(
      forKey key: String, body: (UnsafeBufferPointer<UInt8>?) throws -> Result
    ) rethrows -> Result {
      try unsafe body(byteString(forKey: key)?.pointer.assumingMemoryBound(to: UInt8.self))
    }

    // MARK: NSCoder, without keys: in the order of encoding. A value that is not there is an error.

    public override func decodeObject() -> Any? { nextValue(of: nil) }
    public override func decodePropertyList() -> Any? { nextValue(of: Self.propertyList) }

    public override func decodeData() -> Data? {
      guard let data = nextValue(of: AllowedClasses(NSData.self)) as? NSData else { return nil }
      return unsafe Data(bytes: data.bytes, count: data.length)
    }

    /// Supports the types of `encodeValue(ofObjCType:at:)`. The memory must be initialized.
    public override func decodeValue(ofObjCType type: UnsafePointer<CChar>, at address: UnsafeMutableRawPointer) {
      unsafe readNext(ObjCType(String(cString: type)), at: address)
    }

    private static var propertyList: AllowedClasses {
      AllowedClasses([
        NSArray.self, NSDictionary.self, NSString.self, NSData.self, NSDate.self, NSNumber.self,
      ])
    }

    @inline(__always)
    var isReading: Bool { failure == nil && !isFinished }
  }
#endif
