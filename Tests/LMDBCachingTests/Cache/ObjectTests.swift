import Foundation
import FoundationNetworking
import LMDBCaching
import TestSupport
import Testing

final class OneWay: NSObject, NSCoding {
  override init() {}
  init?(coder: NSCoder) { nil }
  func encode(with coder: NSCoder) {}
}

@Suite struct ObjectTests {
  let directory = CacheDirectory()

  private struct Person: Codable, Sendable, Equatable {
    var name: String
    var tags: Set<String>
    var born: Date?
  }

  /// Objects of plain data are values too, and values of standard types are objects.
  @Test(arguments: Place.allCases, [ObjectCoding.Archiving.cbor, .keyedArchive])
  func valuesAndObjectsMeet(_ place: Place, _ archiving: ObjectCoding.Archiving) throws {
    let cache = try directory.open { configuration in
      neverCommitting(&configuration)
      configuration.objectCoding.archiving = archiving
    }
    let isCBOR = archiving == .cbor
    let born = Date(timeIntervalSinceReferenceDate: -5_870_000_000.25)
    let original = Note(title: "title", count: 7)
    let objects: [(String, any NSCoding)] = [
      ("string", NSString(string: "text")), ("number", NSNumber(value: 42)), ("note", original),
      ("array", NSArray(array: [NSNumber(value: 1), NSNumber(value: 2)])),
      ("person", NSDictionary(dictionary: ["name": "Ada", "tags": NSSet(array: ["x", "y"]), "born": born as NSDate])),
    ]
    for (key, object) in objects { try cache.setObject(object, forKey: key) }
    #expect(try cache.object(forKey: "note") as? Note === original)
    try cache.set("text", forKey: "value")
    try cache.set(42, forKey: "integer")
    try cache.set(Data([1]), forKey: "data")
    try cache.set(["a": 1], forKey: "codable")
    try place.settle(cache)
    // Cached in memory from now on: the same instance each time.
    let note = try #require(try cache.object(forKey: "note") as? Note)
    #expect(try note.title == "title" && note.count == 7 && cache.object(forKey: "note") as? Note === note)
    #expect(try cache.object(forKey: "string") as? NSString == "text")
    #expect((try cache.object(forKey: "array") as? NSArray)?.count == 2)
    #expect(try cache.value(String.self, forKey: "string") == "text")
    #expect(errorCode { try cache.value(Int.self, forKey: "string") } == .typeMismatch)
    #expect(errorCode { try cache.value(String.self, forKey: "note") } == .typeMismatch)
    if !isCBOR {
      #expect(try cache.value(Int.self, forKey: "number") == 42 && cache.value(Int?.self, forKey: "number") == 42)
      #expect(try cache.value(Person.self, forKey: "person") == Person(name: "Ada", tags: ["x", "y"], born: born))
      #expect(try cache.withoutMemory.value([Int].self, forKey: "array") == [1, 2])
      #expect(try cache.values([Int].self, forKeys: ["array", "none"]) == [[1, 2], nil])
      #expect(errorCode { try cache.value([String].self, forKey: "array") } == .typeMismatch)
    }
    #expect(try cache.object(forKey: "value") as? NSString == "text")
    #expect((try cache.object(forKey: "integer") as? NSNumber)?.intValue == 42)
    #expect(try cache.object(forKey: "data") as? NSData == NSData(data: Data([1])))
    #expect(errorCode { try cache.object(forKey: "codable") } == .typeMismatch)
    let formats: [ArchiveFormat?] = isCBOR ? [.string, .objectGraph] : [.keyedArchive, .keyedArchive]
    #expect(try ["string", "note"].map { try cache.entry(forKey: $0)?.format } == formats)
    try cache.close()
    // The record, not the configuration, selects the coding.
    let other = try directory.open { $0.objectCoding.archiving = isCBOR ? .keyedArchive : .cbor }
    #expect(try other.object(forKey: "string") as? NSString == "text")
    #expect((try other.object(forKey: "note") as? Note)?.title == "title")
    try other.close()
  }

  private final class Hidden: NSObject, NSCoding {
    override init() {}
    func encode(with coder: NSCoder) {}
    init?(coder: NSCoder) {}
  }

  /// Foundation's archiver would end the process, or the objects could not be read back.
  private static func unwritable(by archiving: ObjectCoding.Archiving) -> [any NSCoding] {
    let nameless: [any NSCoding] = [
      Hidden(), NSArray(array: [Hidden()]), NSDictionary(dictionary: ["a": [Hidden()]]), NSArray(array: [Thread()]),
    ]
    if archiving == .cbor { return nameless }
    let unreadable: [any NSCoding] = [
      NSDecimalNumber(string: "1.5"), NSArray(array: [NSDecimalNumber(string: "1.5")]), NSArray(array: [Decimal(1)]),
      NSError(domain: "d", code: 7), NSDictionary(dictionary: ["e": NSError(domain: "d", code: 7)]),
      NSNotification(name: NSNotification.Name("n"), object: nil), NSString("$null"), NSArray(array: ["a", "$null"]),
      DateFormatter(), OneWay(),
    ]
    return nameless + unreadable
  }

  @Test(arguments: [ObjectCoding.Archiving.cbor, .keyedArchive])
  func unwritableObjectsAreErrors(_ archiving: ObjectCoding.Archiving) throws {
    let cache = try directory.open { $0.objectCoding.archiving = archiving }
    try cache.setObject(NSString(string: "old"), forKey: "key")
    for object in Self.unwritable(by: archiving) {
      #expect(errorCode { try cache.setObject(object, forKey: "key") } == .encodingFailed, "\(type(of: object))")
    }
    #expect(try cache.withoutMemory.object(forKey: "key") as? NSString == "old")
    try cache.close()
  }

  /// The coder's own tests try its objects.
  @Test func foundationsKeyedArchivesComeBack() throws {
    let cache = try directory.open { $0.objectCoding.archiving = .keyedArchive }
    let url = URL(string: "https://example.org/a")!
    let request = NSMutableURLRequest(url: url)
    request.httpBody = Data([1, 2])
    request.setValue("b", forHTTPHeaderField: "A")
    let signaling = NSMutableURLRequest(url: url)
    signaling.networkServiceType = .networkServiceTypeCallSignaling
    var numbers: [UInt64] = [1, 2, 3, 4, .max]
    let objects: [any NSObject & NSCoding] = [
      URLCredential(user: "u", password: "p", persistence: .permanent),
      HTTPURLResponse(url: url, statusCode: 201, httpVersion: nil, headerFields: ["A": "b"])!, request, signaling,
      NSAffineTransform(transform: AffineTransform(scale: 2)), NSIndexSet(index: Int.max - 1),
      NSValue(edgeInsets: NSEdgeInsets(top: 1, left: 2, bottom: 3, right: 4)),
      NSValue(bytes: &numbers, objCType: "[5Q]"), NSValue(bytes: &numbers, objCType: "q"),
    ]
    for object in objects {
      try cache.setObject(object, forKey: "object")
      #expect(object.isEqual(try cache.withoutMemory.object(forKey: "object")), "\(object)")
    }
    try cache.close()
  }

  @Test func aClassThatIsNotAllowedIsNotRead() throws {
    let writer = try directory.open()
    try writer.setObject(Note(title: "t", count: 1), forKey: "note")
    try writer.setObject(NSString(string: "text"), forKey: "string")
    try writer.close()
    let strict = try directory.open { $0.objectCoding.allowedClasses = [] }
    #expect(errorCode { try strict.object(forKey: "note") } == .decodingFailed)
    #expect(try strict.object(forKey: "string") as? NSString == "text")
    try strict.close()
    let lenient = try directory.open { $0.objectCoding.allowedClasses = [Note.self] }
    #expect((try lenient.object(forKey: "note") as? Note)?.count == 1)
    try lenient.close()
  }

  @Test(arguments: Place.allCases) func customClosuresArchiveAndUnarchive(_ place: Place) throws {
    struct Failure: Error {}
    let cache = try directory.open { configuration in
      neverCommitting(&configuration)
      configuration.objectCoding.customArchive = { object in
        guard let note = object as? Note else { throw Failure() }
        return Data("\(note.count)|\(note.title)".utf8)
      }
      configuration.objectCoding.customUnarchive = { data in
        let parts = String(decoding: data, as: UTF8.self).split(separator: "|", maxSplits: 1)
        guard parts.count == 2, let count = Int(parts[0]) else { throw Failure() }
        return Note(title: String(parts[1]), count: count)
      }
    }
    try cache.setObject(Note(title: "a|b", count: 3), forKey: "note")
    try place.settle(cache)
    #expect(errorCode { try cache.setObject(NSString(string: "x"), forKey: "note") } == .encodingFailed)
    let note = try #require(try cache.object(forKey: "note") as? Note)
    #expect(try note.title == "a|b" && note.count == 3 && cache.entries().first?.format == .custom)
    try cache.close()
    let other = try directory.open()
    #expect(errorCode { try other.object(forKey: "note") } == .decodingFailed)
    #expect(errorCode { try other.value(String.self, forKey: "note") } == .typeMismatch)
    try other.close()
  }

  /// The names of YYCache and YYDiskCache.
  @Test(arguments: [false, true]) func completionsAreCalledOffTheCallersThread(_ hasMemory: Bool) throws {
    let cache = try hasMemory ? directory.open() : directory.openDisk()
    let group = DispatchGroup()
    let caller = ObjectIdentifier(Thread.current)
    let log = Guarded<[String]>([])
    @Sendable func note(_ text: String) {
      if ObjectIdentifier(Thread.current) == caller { Issue.record("called on the caller's thread") }
      log { $0.append(text) }
      group.leave()
    }
    // Each completion runs before the next step begins.
    func step(_ body: () -> Void) { group.enter(); body(); group.wait() }
    step { cache.setObject(NSString(string: "v"), forKey: "key", cost: 3) { note("set \($0 == nil)") } }
    step { cache.containsObject(forKey: "key") { key, found in note("contains \(key) \(found)") } }
    step {
      cache.object(forKey: "key") { key, result in
        note("object \(key) \((try? result.get()) as? NSString == "v")")
      }
    }
    step { cache.removeObject(forKey: "key") { key, error in note("removed \(key) \(error == nil)") } }
    step { cache.removeAllObjects { note("all \($0 == nil)") } }
    #expect(log.current == ["set true", "contains key true", "object key true", "removed key true", "all true"])
    for index in 0..<10 { try cache.setObject(NSNumber(value: index), forKey: "\(index)") }
    // A missing object removes the entry.
    try cache.setObject(nil, forKey: "0")
    let progress = Guarded<[Int]>([])
    step {
      cache.removeAllObjects(
        progress: { removed, total in progress { $0 += [removed, total] } }, completion: { note("end \($0 == nil)") })
    }
    #expect(try progress.current == [0, 9, 9, 9] && cache.count == 0)
    try cache.close()
    step { cache.setObject(NSString(string: "v"), forKey: "key") { note("closed \($0?.code == .closed)") } }
    step { cache.object(forKey: "key") { _, result in note("closed \(errorCode { try result.get() } == .closed)") } }
    #expect(log.current.suffix(2) == ["closed true", "closed true"])
  }
}
