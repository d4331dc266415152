#if !canImport(Darwin)
  public import Foundation
  import FoundationObjects

  /// Archives objects that conform to `NSCoding` as CBOR (RFC 8949). Replaces `NSKeyedArchiver`.
  ///
  /// Unlike Foundation's archiver on Linux, it keeps mutable objects mutable, `true` and 1 distinct, and shared objects
  /// shared. ``CBORKeyedUnarchiver`` reads the archives, and any CBOR tool displays them.
  ///
  /// Failures never end the process; the first is in ``error``, and ends the encoding: a class without `NSCoding`, a
  /// private or local class without a set name (see ``setClassName(_:for:)-method``), a key that an object uses twice,
  /// or nesting that is too deep.
  ///
  /// Objects, collections, and longer strings and data are written once; numbers, dates and short strings each time,
  /// even when encoded conditionally.
  ///
  /// Two Foundation calls on Linux still end the process: coding points, sizes and rectangles *without* a key, and
  /// `encode(with:)` of a collection class called by a subclass. Encode geometry under keys, and a collection
  /// subclass's contents as a collection.
  ///
  /// Use a coder for one archive on one thread.
  public final class CBORKeyedArchiver: NSCoder {
    /// Memory reused by the next archive.
    let buffers: ArchivingBuffers
    @safe @exclusivity(unchecked) var frame = EncodingFrame()
    @safe @exclusivity(unchecked) var depth = GraphDepth()
    @safe @exclusivity(unchecked) var nesting = Nesting(maximumDepth: ObjectGraph.maximumDepth)
    @safe @exclusivity(unchecked) var failure: (any Error)?
    @safe @exclusivity(unchecked) var isFinished = false
    @safe @exclusivity(unchecked) var names = ClassNameMap()
    @safe @exclusivity(unchecked) var replacements: [ObjectIdentifier: Any?] = [:]
    /// Whether the output is discarded, to detect what would end the process in `NSKeyedArchiver`.
    var isRehearsal = false
    /// Whether the output is only a sort key, limited to ``longestSortKey``.
    @safe @exclusivity(unchecked) var isSortKey = false
    static let longestSortKey = 4096
    private let isSecure: Bool

    /// - Parameter requiringSecureCoding: Whether objects whose class lacks `NSSecureCoding` are an error.
    public init(requiringSecureCoding: Bool) {
      isSecure = requiringSecureCoding
      buffers = ArchivingBuffers.take()
      super.init()
      // The head of the top level's map, whose count is filled in at the end.
      writer.writeMapHead(count: 0)
    }

    deinit { buffers.giveBack() }

    @inline(__always) var writer: CBORWriter {
      _read { yield buffers.writer }
      _modify { yield &buffers.writer }
    }

    @inline(__always) var identities: IdentityTable {
      _read { yield buffers.identities }
      _modify { yield &buffers.identities }
    }

    /// Offsets of the keys of the objects being encoded; the innermost object's come last.
    @inline(__always) var keyOffsets: ContiguousArray<Int> {
      _read { yield buffers.keyOffsets }
      _modify { yield &buffers.keyOffsets }
    }

    /// Archives an object graph.
    ///
    /// - Throws: A ``CBORCodingError`` with the code ``CBORCodingError/Code/encodingFailed``, or the error that an
    ///   object reported with `failWithError(_:)`.
    public static func archivedData(withRootObject object: Any, requiringSecureCoding: Bool) throws -> Data {
      try archive(object, requiringSecureCoding: requiringSecureCoding).writer.data
    }

    private static func archive(
      _ root: Any, requiringSecureCoding: Bool = false, isRehearsal: Bool = false
    ) throws -> CBORKeyedArchiver {
      let archiver = CBORKeyedArchiver(requiringSecureCoding: requiringSecureCoding)
      archiver.isRehearsal = isRehearsal
      archiver.encode(root, forKey: NSKeyedArchiveRootObjectKey)
      archiver.finish()
      if let failure = archiver.failure { throw failure }
      return archiver
    }

    /// Archives an object and lends the archive to `body`, without copying.
    ///
    /// - Throws: As ``archivedData(withRootObject:requiringSecureCoding:)``; the error of `body` is in the result.
    package static func withArchive<R, E: Error>(
      ofRootObject object: Any, _ body: (UnsafeRawBufferPointer) throws(E) -> R
    ) throws -> Result<R, E> {
      try archive(object).writer.withBytes { bytes in
        do throws(E) { return unsafe .success(try body(bytes.pointer)) } catch { return .failure(error) }
      }
    }

    /// Checks whether Foundation's archiver, which ends the process on failure, can archive an object.
    ///
    /// - Throws: The failure it would have.
    package static func rehearse(_ object: Any) throws {
      _ = try archive(object, isRehearsal: true)
    }

    /// The archive, or empty after an ``error``. Finishes encoding.
    public var encodedData: Data {
      finishEncoding()
      return failure == nil ? writer.data : Data()
    }

    /// Ends encoding. Encoding anything later is an error.
    public func finishEncoding() { finish() }

    /// Sets the name under which this archiver encodes objects of a custom class.
    public func setClassName(_ codedName: String?, for cls: AnyClass) { names[name: cls] = codedName }

    /// Sets the name under which all archivers of the process encode objects of a class; an archiver's own setting
    /// takes precedence. Private and local classes need a name for the unarchiver to find them.
    public static func setClassName(_ codedName: String?, for cls: AnyClass) {
      ClassNameMap.archiving.change { $0[name: cls] = codedName }
    }

    static func className(for cls: AnyClass) -> String? { ClassNameMap.archiving.read { $0[name: cls] } }

    // MARK: NSCoder

    public override var allowsKeyedCoding: Bool { true }
    public override var requiresSecureCoding: Bool { isSecure }
    public override var error: (any Error)? { failure }
    public override var allowedClasses: [AnyClass]? { nil }
    /// Always `.setErrorAndReturn`, as Linux has no exceptions.
    public override var decodingFailurePolicy: NSCoder.DecodingFailurePolicy { .setErrorAndReturn }
    /// Records the first error and stops encoding.
    public override func failWithError(_ error: any Error) { if failure == nil { failure = error } }
    /// 0, or `NSNotFound` for an unknown class: archives have no class versions.
    public override func version(forClassName className: String) -> Int {
      ClassName.isKnown(className) ? 0 : NSNotFound
    }

    public override func encode(_ object: Any?, forKey key: String) {
      if beginField(key) { write(object) }
    }

    public override func encodeConditionalObject(_ object: Any?, forKey key: String) {
      if beginField(key) { writeConditionally(object) }
    }

    public override func encode(_ value: Bool, forKey key: String) {
      if beginField(key) { writer.writeBool(value) }
    }

    public override func encode(_ value: Int32, forKey key: String) {
      if beginField(key) { writer.writeInteger(value) }
    }

    public override func encode(_ value: Int64, forKey key: String) {
      if beginField(key) { writer.writeInteger(value) }
    }

    public override func encode(_ value: Int, forKey key: String) {
      if beginField(key) { writer.writeInteger(value) }
    }

    public override func encode(_ value: Float, forKey key: String) {
      if beginField(key) { writer.writeWhole(value) }
    }

    public override func encode(_ value: Double, forKey key: String) {
      if beginField(key) { writer.writeWhole(value) }
    }

    public override func encodeBytes(_ bytes: UnsafePointer<UInt8>?, length: Int, forKey key: String) {
      if beginField(key) { unsafe write(bytes, length) }
    }

    // MARK: NSCoder, without keys

    public override func encode(_ object: Any?) {
      if beginUnkeyedField() { write(object) }
    }

    public override func encodeConditionalObject(_ object: Any?) {
      if beginUnkeyedField() { writeConditionally(object) }
    }

    public override func encodePropertyList(_ propertyList: Any) { encode(propertyList) }

    public override func encode(_ data: Data) {
      if beginUnkeyedField() { writer.writeBytes(data) }
    }

    /// Decode with `decodeData()`.
    public override func encodeBytes(_ bytes: UnsafeRawPointer?, length: Int) {
      if beginUnkeyedField() { unsafe write(bytes, length) }
    }

    private func write(_ bytes: UnsafeRawPointer?, _ length: Int) {
      unsafe writer.writeBytes(CBORBytes(UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : length)))
    }

    /// Supports the numbers `c C s S i I l L q Q f d B` and arrays of them, such as `[3d]`.
    public override func encodeValue(ofObjCType type: UnsafePointer<CChar>, at address: UnsafeRawPointer) {
      guard beginUnkeyedField() else { return }
      let name = unsafe String(cString: type)
      guard let type = ObjCType(name) else {
        return fail("Values of the Objective-C type \(name) cannot be encoded.")
      }
      unsafe write(type, at: address)
    }
  }

  /// An archiver's reusable memory: allocating it takes longer than archiving a small object.
  final class ArchivingBuffers {
    // Unchecked: no access runs foreign code.
    @safe @exclusivity(unchecked) var writer = CBORWriter(capacity: 512)
    @safe @exclusivity(unchecked) var identities = IdentityTable()
    /// Ordered by offset.
    @safe @exclusivity(unchecked) var references: ContiguousArray<ObjectReference> = []
    @safe @exclusivity(unchecked) var keyOffsets: ContiguousArray<Int> = []
    /// The classes of the objects being encoded, for messages.
    @safe @exclusivity(unchecked) var path: ContiguousArray<ClassRecord.Reference> = []

    private static let spares = CBORSpares<ArchivingBuffers>(limit: 8)
    /// Larger buffers are freed.
    private static let largestSpare = 64 << 10

    static func take() -> ArchivingBuffers { spares.take() ?? ArchivingBuffers() }

    func giveBack() {
      guard writer.capacity <= Self.largestSpare, keyOffsets.count <= 512, identities.entries.count <= 512 else {
        return
      }
      writer.removeAll()
      identities.removeAll()
      if !references.isEmpty { references.removeAll() }
      keyOffsets.removeAll(keepingCapacity: true)
      path.removeAll(keepingCapacity: true)
      Self.spares.put(self)
    }
  }

  /// An archive offset with a one-byte placeholder for a reference.
  struct ObjectReference {
    var offset: Int
    /// The object's number in the identity table.
    let entry: Int
  }

  /// State of the object being encoded.
  struct EncodingFrame {
    /// The index of its first key in the archiver's list.
    var firstKey = 0
    /// Values encoded without a key.
    var unkeyedCount = 0
  }
#endif
