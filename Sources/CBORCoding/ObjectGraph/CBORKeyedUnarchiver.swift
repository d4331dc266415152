#if !canImport(Darwin)
  public import Foundation
  import FoundationObjects

  /// Reads the archives of ``CBORKeyedArchiver``, in place of `NSKeyedUnarchiver`.
  ///
  /// The archive is checked as a whole before anything of it is used; bytes that were made up or damaged are an error
  /// and never the end of the process. What happens in an `init(coder:)` is up to its class: it should not force what
  /// it decodes, since after the first error every value is nil, 0 or false.
  ///
  /// **Errors.** The first one is in ``error``, and is thrown by the methods that decode a root. A key that is not
  /// there is none: the value is nil, 0 or false, as in Foundation on Apple's platforms; ask `containsValue(forKey:)`.
  /// A value of another kind than asked for is one, unless nothing is lost: integers, floating-point numbers with an
  /// integral value and booleans are read as each other. There are no exceptions on Linux, so both values of
  /// ``decodingFailurePolicy`` are the same.
  ///
  /// **Secure coding.** With ``requiresSecureCoding`` only objects of the classes asked for and their subclasses are
  /// made; the `init(coder:)` of another class is never called. What is in collections has to be of these classes too;
  /// strings, numbers and data may always be in them, as in Foundation on Linux. A method that names no class goes by
  /// the classes of the object or collection around.
  ///
  /// **Cycles.** An object exists in Swift when its `init(coder:)` has returned. Until then a reference to it is an
  /// error that names the path, where `NSKeyedUnarchiver` on Linux recurses until the stack ends. Objects that refer to
  /// each other are read with ``decodeObject(forKey:whenDecoded:)``; mutable arrays and dictionaries that contain
  /// themselves are read, except under secure coding, since comparing such objects would never end.
  ///
  /// A coder is for one archive and one thread.
  public final class CBORKeyedUnarchiver: NSCoder {
    // Unchecked where it is: accessed in steps that call nothing back.
    var bytes: UnsafeRawBufferPointer
    @exclusivity(unchecked) var fields: FieldCursor
    var shared: SharedValues
    var allowed = AllowedClasses.none
    @exclusivity(unchecked) var depth = GraphDepth()
    @exclusivity(unchecked) var nesting = Nesting(maximumDepth: ObjectGraph.maximumDepth)
    var failure: (any Error)?
    var names = ClassNameMap()
    @exclusivity(unchecked) var budget: ReadingBudget
    /// Whether an object was read that is no `NSObject`: Foundation's collections need it wrapped.
    var hasForeignObjects = false
    /// C strings that were handed out.
    var cStrings: [UnsafeMutablePointer<CChar>] = []
    private var isFinished = false
    private var isSecure = true
    private var policy = NSCoder.DecodingFailurePolicy.setErrorAndReturn
    /// The copy that is read, or `nil` if the bytes are borrowed.
    private let owned: UnsafeMutableRawBufferPointer?

    /// Reads an archive, of which it keeps a copy. ``requiresSecureCoding`` is true at first.
    ///
    /// - Throws: ``CBORCodingError/Code/malformed`` if the data is no archive, or not whole.
    public convenience init(forReadingFrom data: Data) throws {
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: data.count, alignment: 1)
      data.withUnsafeBytes { copy.copyMemory(from: $0) }
      try self.init(UnsafeRawBufferPointer(copy), owned: copy)
    }

    private init(_ bytes: UnsafeRawBufferPointer, owned: UnsafeMutableRawBufferPointer?) throws(CBORCodingError) {
      self.owned = owned
      self.bytes = bytes
      budget = ReadingBudget(comparisons: 1 << 23 + 64 * bytes.count)
      fields = FieldCursor(record: nil, start: 0, count: 0)
      shared = SharedValues(offsets: [])
      super.init()
      do throws(CBORError) {
        let scan = try ArchiveScan(bytes)
        if !scan.sharedOffsets.isEmpty { shared = SharedValues(offsets: scan.sharedOffsets) }
        var reader = CBORReader(bytes)
        guard let count = try reader.readMapHead() else { throw CBORError(.unexpectedItem, at: 0) }
        fields = FieldCursor(record: nil, start: reader.offset, count: count)
      } catch {
        throw CBORCodingError(error, "The bytes are no archive of objects, or not a whole one.")
      }
    }

    deinit {
      owned?.deallocate()
      for string in cStrings { free(string) }
    }

    /// Calls `body` with an unarchiver that reads bytes where they are. Afterwards it reads nothing more, should
    /// somebody have kept it.
    package static func read<R>(
      _ bytes: UnsafeRawBufferPointer, _ body: (CBORKeyedUnarchiver) throws -> R
    ) throws -> R {
      let unarchiver = try CBORKeyedUnarchiver(bytes, owned: nil)
      defer { unarchiver.invalidate() }
      return try body(unarchiver)
    }

    private func invalidate() {
      isFinished = true
      bytes = UnsafeRawBufferPointer(start: nil, count: 0)
      fields = FieldCursor(record: nil, start: 0, count: 0)
    }

    /// Returns the root object of an archive, which has to be of a class or a subclass of it, or `nil` if nil was archived.
    ///
    /// - Throws: What went wrong first, a ``CBORCodingError`` unless an object reported an error of its own.
    public static func unarchivedObject<Object: NSObject & NSCoding>(
      ofClass cls: Object.Type, from data: Data
    ) throws -> Object? {
      guard let object = try unarchivedObject(ofClasses: [cls], from: data) else { return nil }
      guard let typed = object as? Object else {
        throw CBORCodingError(.typeMismatch, "The root is a \(type(of: object)), not a \(cls).")
      }
      return typed
    }

    /// Returns the root object of an archive, which has to be of one of the classes or a subclass of one, or `nil` if nil
    /// was archived.
    ///
    /// - Throws: As ``unarchivedObject(ofClass:from:)``.
    public static func unarchivedObject(ofClasses classes: [AnyClass], from data: Data) throws -> Any? {
      try data.withUnsafeBytes { bytes in try read(bytes) { try $0.root(of: classes) } }
    }

    /// Ends decoding: nothing is read afterwards.
    public func finishDecoding() { isFinished = true }

    /// Has a class read what is archived under a name, in this unarchiver.
    public func setClass(_ cls: AnyClass?, forClassName codedName: String) { names[class: codedName] = cls }

    /// The class set for this unarchiver.
    public func `class`(forClassName codedName: String) -> AnyClass? { names[class: codedName] }

    /// Has a class read what is archived under a name, in all unarchivers of the process. One set for an unarchiver
    /// goes first.
    public static func setClass(_ cls: AnyClass?, forClassName codedName: String) {
      ClassNameMap.unarchiving.change { $0[class: codedName] = cls }
    }

    /// The class set for all unarchivers.
    public static func `class`(forClassName codedName: String) -> AnyClass? {
      ClassNameMap.unarchiving.read { $0[class: codedName] }
    }

    /// Decodes an object that may be one whose `init(coder:)` has not returned yet: then `completion` is called when
    /// it has, and at once otherwise. So do objects that refer to each other get hold of each other:
    ///
    /// ```swift
    /// (coder as? CBORKeyedUnarchiver)?.decodeObject(forKey: "parent") { [weak self] in self?.parent = $0 as? Parent }
    /// ```
    ///
    /// Under secure coding it is of a class that is allowed when this is called.
    public func decodeObject(forKey key: String, whenDecoded completion: @escaping (Any?) -> Void) {
      decodeValue(forKey: key, whenDecoded: completion)
    }

    // MARK: NSCoder

    public override var allowsKeyedCoding: Bool { true }
    public override var systemVersion: UInt32 { 2000 }
    public override var error: (any Error)? { failure }
    public override var allowedClasses: [AnyClass]? { isSecure ? allowed.all : nil }

    public override var requiresSecureCoding: Bool {
      get { isSecure }
      set { isSecure = newValue }
    }

    public override var decodingFailurePolicy: NSCoder.DecodingFailurePolicy {
      get { policy }
      set { policy = newValue }
    }

    /// Keeps the first error; every value decoded afterwards is nil, 0 or false.
    public override func failWithError(_ error: any Error) { if failure == nil { failure = error } }

    /// Keyed archives have no versions of classes: 0, or `NSNotFound` if there is no such class.
    public override func version(forClassName className: String) -> Int {
      names[class: className] != nil || Self.class(forClassName: className) != nil || ClassName.isKnown(className)
        ? 0 : NSNotFound
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

    /// Calls `body` with bytes that were encoded as such or as data, in place, or with `nil` if there are none under the
    /// key.
    public override func withDecodedUnsafeBytes<Result>(
      forKey key: String, body: (UnsafeRawBufferPointer?) throws -> Result
    ) rethrows -> Result {
      try body(byteString(forKey: key))
    }

    @available(swift, deprecated: 9999, renamed: "withDecodedUnsafeBytes(forKey:body:)")
    public override func withDecodedUnsafeBufferPointer<Result>(
      forKey key: String, body: (UnsafeBufferPointer<UInt8>?) throws -> Result
    ) rethrows -> Result {
      try body(byteString(forKey: key).map { $0.assumingMemoryBound(to: UInt8.self) })
    }

    // MARK: NSCoder, without keys: in the order of encoding. A value that is not there is an error.

    public override func decodeObject() -> Any? { nextValue(of: nil) }
    public override func decodePropertyList() -> Any? { nextValue(of: Self.propertyList) }

    public override func decodeData() -> Data? {
      guard let data = nextValue(of: AllowedClasses(NSData.self)) as? NSData else { return nil }
      return Data(bytes: data.bytes, count: data.length)
    }

    /// Takes what `encodeValue(ofObjCType:at:)` takes. The memory has to hold a value before; a C string that is
    /// decoded is the unarchiver's and lasts as long as it does.
    public override func decodeValue(ofObjCType type: UnsafePointer<CChar>, at address: UnsafeMutableRawPointer) {
      readNext(ObjCType(type), at: address)
    }

    public override func decodeArray(
      ofObjCType type: UnsafePointer<CChar>, count: Int, at array: UnsafeMutableRawPointer
    ) {
      readNext(count >= 0 ? ObjCType(type).map { .array($0, count) } : nil, at: array)
    }

    private static var propertyList: AllowedClasses {
      AllowedClasses([
        NSArray.self, NSDictionary.self, NSString.self, NSData.self, NSDate.self, NSNumber.self,
      ])
    }

    /// Whether anything is to be decoded still.
    @inline(__always)
    var isReading: Bool { failure == nil && !isFinished }
  }
#endif
