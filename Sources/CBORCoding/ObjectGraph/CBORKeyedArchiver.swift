#if !canImport(Darwin)
  public import Foundation
  import FoundationObjects

  /// Archives objects that conform to `NSCoding` as CBOR (RFC 8949), in place of `NSKeyedArchiver`.
  ///
  /// Hundreds of times as fast as Foundation's archiver on Linux, and what Foundation's loses there is kept: mutable
  /// objects come back mutable, `true` and 1 stay apart, an object that is reached twice is one object afterwards.
  /// ``CBORKeyedUnarchiver`` reads the archives, and any tool for CBOR shows what is in them.
  ///
  /// What cannot be archived is an error in ``error``, never the end of the process: objects of classes without
  /// `NSCoding`, or of classes that are private or local and have no name of their own (see ``setClassName(_:for:)-method``),
  /// a key that an object uses twice, nesting too deep. After the first one nothing more is encoded.
  ///
  /// Objects of classes, all collections and longer strings and data are written once however often they are met.
  /// Values such as numbers, dates and short strings are written each time, also where they are encoded
  /// conditionally. A cycle of objects is archived; for reading it see ``CBORKeyedUnarchiver``.
  ///
  /// Two things are up to Foundation on Linux, and end the process there: to encode or decode points, sizes and
  /// rectangles *without* a key, and `encode(with:)` of its collection classes called by a subclass. Encode geometry
  /// under keys, and what a subclass of a collection holds as a collection.
  ///
  /// A coder is for one archive and one thread.
  public final class CBORKeyedArchiver: NSCoder {
    /// What is kept for the next archive.
    private let buffers: ArchivingBuffers
    /// The object being encoded.
    @exclusivity(unchecked) var frame = EncodingFrame()
    @exclusivity(unchecked) var depth = GraphDepth()
    @exclusivity(unchecked) var nesting = Nesting(maximumDepth: ObjectGraph.maximumDepth)
    @exclusivity(unchecked) var failure: (any Error)?
    @exclusivity(unchecked) var isFinished = false
    @exclusivity(unchecked) var names = ClassNameMap()
    @exclusivity(unchecked) var replacements: [ObjectIdentifier: Any?] = [:]
    /// Whether what is written is thrown away, and only meant to find what ends the process in `NSKeyedArchiver`.
    var isRehearsal = false
    /// Whether what is written is only compared with that of other values, as far as ``longestSortKey``.
    @exclusivity(unchecked) var isSortKey = false
    static let longestSortKey = 4096
    private let isSecure: Bool

    /// - Parameter requiringSecureCoding: Whether an object whose class does not conform to `NSSecureCoding` is an
    ///   error.
    public init(requiringSecureCoding: Bool) {
      isSecure = requiringSecureCoding
      buffers = ArchivingBuffers.take()
      super.init()
      // The head of the map of the top level; its count is filled in at the end.
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

    /// In the order of their offsets.
    @inline(__always) var references: ContiguousArray<ObjectReference> {
      _read { yield buffers.references }
      _modify { yield &buffers.references }
    }

    /// Where the keys of the objects being encoded are; the innermost object's are the last ones.
    @inline(__always) var keyOffsets: ContiguousArray<Int> {
      _read { yield buffers.keyOffsets }
      _modify { yield &buffers.keyOffsets }
    }

    /// The classes of the objects being encoded, for messages.
    @inline(__always) var path: ContiguousArray<ClassRecord.Reference> {
      _read { yield buffers.path }
      _modify { yield &buffers.path }
    }

    /// Archives an object and what it refers to.
    ///
    /// - Throws: A ``CBORCodingError`` with the code ``CBORCodingError/Code/encodingFailed``, or the error that the object
    ///   reported with `failWithError(_:)`.
    public static func archivedData(withRootObject object: Any, requiringSecureCoding: Bool) throws -> Data {
      let archiver = CBORKeyedArchiver(requiringSecureCoding: requiringSecureCoding)
      archiver.encode(object, forKey: NSKeyedArchiveRootObjectKey)
      archiver.finish()
      if let failure = archiver.failure { throw failure }
      return archiver.writer.data
    }

    /// Archives an object and calls `body` with the archive, which is valid in it only and not copied.
    ///
    /// - Throws: As ``archivedData(withRootObject:requiringSecureCoding:)``; what `body` throws is in the result.
    package static func withArchive<R, E: Error>(
      ofRootObject object: Any, _ body: (UnsafeRawBufferPointer) throws(E) -> R
    ) throws -> Result<R, E> {
      let archiver = CBORKeyedArchiver(requiringSecureCoding: false)
      archiver.encode(object, forKey: NSKeyedArchiveRootObjectKey)
      archiver.finish()
      if let failure = archiver.failure { throw failure }
      return archiver.writer.withBytes { bytes in
        do throws(E) { return .success(try body(bytes)) } catch { return .failure(error) }
      }
    }

    /// Finds out whether Foundation's archiver can archive an object, which ends the process if it cannot.
    ///
    /// - Throws: What would be wrong.
    package static func rehearse(_ object: Any) throws {
      let archiver = CBORKeyedArchiver(requiringSecureCoding: false)
      archiver.isRehearsal = true
      archiver.encode(object, forKey: NSKeyedArchiveRootObjectKey)
      archiver.finish()
      if let failure = archiver.failure { throw failure }
    }

    /// The archive; empty if there was an ``error``. Finishes encoding.
    public var encodedData: Data {
      finishEncoding()
      return failure == nil ? writer.data : Data()
    }

    /// Ends encoding: what is encoded later is an error.
    public func finishEncoding() { finish() }

    /// Encodes objects of a class under another name than the class has, for this archiver and classes of one's own.
    public func setClassName(_ codedName: String?, for cls: AnyClass) { names[name: cls] = codedName }

    /// The name set for this archiver.
    public func className(for cls: AnyClass) -> String? { names[name: cls] }

    /// Encodes objects of a class under another name, for all archivers of the process. A name set for one archiver
    /// goes first. Classes that are private to a file or local to a function need one, to be found by the reader.
    public static func setClassName(_ codedName: String?, for cls: AnyClass) {
      ClassNameMap.archiving.change { $0[name: cls] = codedName }
    }

    /// The name set for all archivers.
    public static func className(for cls: AnyClass) -> String? { ClassNameMap.archiving.read { $0[name: cls] } }

    // MARK: NSCoder

    public override var allowsKeyedCoding: Bool { true }
    public override var requiresSecureCoding: Bool { isSecure }
    public override var systemVersion: UInt32 { 2000 }
    public override var error: (any Error)? { failure }
    public override var allowedClasses: [AnyClass]? { nil }
    /// Always `.setErrorAndReturn`: there are no exceptions on Linux.
    public override var decodingFailurePolicy: NSCoder.DecodingFailurePolicy { .setErrorAndReturn }
    /// Keeps the first error; nothing more is encoded.
    public override func failWithError(_ error: any Error) { if failure == nil { failure = error } }
    /// Keyed archives have no versions of classes: 0, or `NSNotFound` if there is no such class.
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
      if beginField(key) { writer.writeBytes(UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : length)) }
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

    /// Matched by `decodeData()`.
    public override func encodeBytes(_ bytes: UnsafeRawPointer?, length: Int) {
      if beginUnkeyedField() {
        writer.writeBytes(UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : length))
      }
    }

    /// Takes `c C s S i I l L q Q f d B`, `*`, `@` (an `Any?`), `#` (an `AnyClass`), arrays and structures of them.
    public override func encodeValue(ofObjCType type: UnsafePointer<CChar>, at address: UnsafeRawPointer) {
      guard beginUnkeyedField() else { return }
      guard let type = ObjCType(type) else {
        return fail("Values of the Objective-C type \(String(cString: type)) cannot be encoded.")
      }
      write(type, at: address)
    }

    public override func encodeArray(ofObjCType type: UnsafePointer<CChar>, count: Int, at array: UnsafeRawPointer) {
      guard beginUnkeyedField() else { return }
      guard count >= 0, let element = ObjCType(type) else {
        return fail("Arrays of the Objective-C type \(String(cString: type)) cannot be encoded.")
      }
      write(.array(element, count), at: array)
    }
  }
#endif
