import Platform

/// The little-endian header of every stored value. Unused fields take no space, because most values are short.
///
///     offset  bytes
///          0      4  checksum: see `checksum(headerHash:payloadHash:)`
///          4      1  version of this layout
///          5      1  archive format
///          6      2  flags, two of whose bits count repeated uses
///          8      8  stamp of the write
///         16      4  created, seconds since 1970
///         20      4  last access, seconds since 1970
///         24      4  cost, unless `wideCost`
///         28      8  with `expires`: the expiry, nanoseconds since 1970
///          …      8  with `wideCost`: the cost
///          …     16  with `times`: the refresh time, then the time until which it is kept, both like the expiry
///          …      8  with `revision`: the remote tier's revision
///          …      …  with `tags`: see ``TagHashes``
///          …      4  with `key`: the key's length, if it is not the database key; then the key
///          …         the payload: the value or, with `pointer`, a ``ValuePointer``
package struct RecordHeader {
  /// The length of the fields that every header has.
  static let baseSize = 28
  static let version: UInt8 = 1

  struct Flags: OptionSet {
    let rawValue: UInt16
    static let pointer = Flags(rawValue: 1)
    fileprivate static let expires = Flags(rawValue: 2)
    fileprivate static let wideCost = Flags(rawValue: 4)
    fileprivate static let key = Flags(rawValue: 8)
    static let transformed = Flags(rawValue: 16)
    fileprivate static let times = Flags(rawValue: 32)
    /// Records, for loads, that no value exists. For other reads it has expired.
    static let absence = Flags(rawValue: 64)
    /// Two bits for ``RecordHeader/uses``.
    fileprivate static let uses = Flags(rawValue: 3 << usesShift)
    fileprivate static let usesShift: UInt16 = 7
    fileprivate static let tags = Flags(rawValue: 512)
    fileprivate static let revision = Flags(rawValue: 1024)
    fileprivate static let transacted = Flags(rawValue: 2048)
    fileprivate static let known: Flags = [
      .pointer, .expires, .wideCost, .key, .transformed, .times, .absence, .uses, .tags, .revision, .transacted,
    ]
  }

  private(set) var checksum: UInt32 = 0
  package var format: ArchiveFormat
  var flags: Flags = []
  /// 0 if the record does not hold the key.
  var keyLength: UInt32 = 0
  package var stamp: UInt64 = 0
  /// Nanoseconds since 1970; 0: never.
  package var expires: Int64
  /// When a read through a loader reloads it before its expiry; 0: never.
  package var refresh: Int64 = 0
  /// Until when it is kept after its expiry, for slow or failing loads; 0: not kept.
  package var kept: Int64 = 0
  /// The remote tier's revision; 0: none.
  package var revision: UInt64 = 0
  /// Whether a transaction that depends on committed values writes the record, bypassing other processes' journals.
  /// Their journaled writes, which it has not seen, take precedence over it even if older, when committed or replayed.
  /// Not read, because a copied record is an ordinary write; see ``wasTransacted``.
  var isTransacted = false
  private var tagCount: UInt8 = 0
  private var foundTags: TagHashes?
  package var created: UInt32
  package var lastAccess: UInt32
  package var cost: Int
  private(set) var payloadLength: Int

  static let maximumUses: UInt8 = 3

  /// The number of repeated uses, at most ``maximumUses`` (``noteAccess(_:generation:)``).
  package var uses: UInt8 {
    get { UInt8((flags.rawValue & Flags.uses.rawValue) >> Flags.usesShift) }
    set { flags = flags.subtracting(.uses).union(Flags(rawValue: UInt16(newValue) << Flags.usesShift)) }
  }

  var transacted: RecordHeader {
    var header = self
    header.isTransacted = true
    return header
  }

  /// Whether the record was written with ``isTransacted`` set.
  var wasTransacted: Bool { flags.contains(.transacted) }

  /// Whether a journaled write with this stamp replaces the record.
  func gives(wayTo stamp: UInt64) -> Bool { self.stamp < stamp || wasTransacted }

  init(format: ArchiveFormat, expires: Int64, now: UInt32, cost: Int) {
    self.format = format
    self.expires = expires
    self.created = now
    self.lastAccess = now
    self.cost = cost
    payloadLength = 0
  }

  @inline(__always)
  init?(_ record: ByteView) {
    guard record.count >= Self.baseSize, record[4] == Self.version else { return nil }
    checksum = record.load(0)
    format = ArchiveFormat(rawValue: record[5])
    flags = Flags(rawValue: record.load(6))
    stamp = record.load(8)
    // A greater stamp is forged, and would seem newer than all later writes.
    guard stamp < StampClock.limit else { return nil }
    created = record.load(16)
    lastAccess = record.load(20)
    cost = Int(record.load(24, as: UInt32.self))
    expires = 0
    if flags.isSubset(of: [.transformed, .uses, .transacted]) {
      payloadLength = record.count &- Self.baseSize
      return
    }
    guard flags.isSubset(of: .known) else { return nil }
    var offset = Self.baseSize
    var isCut = false
    let present = flags
    func field(_ flag: Flags) -> UInt64? {
      guard present.contains(flag), !isCut else { return nil }
      isCut = record.count < offset + 8
      if isCut { return nil }
      defer { offset += 8 }
      return record.load(offset)
    }
    expires = Int64(bitPattern: field(.expires) ?? 0)
    cost = field(.wideCost).map { Int(bitPattern: UInt(truncatingIfNeeded: $0)) } ?? cost
    refresh = Int64(bitPattern: field(.times) ?? 0)
    kept = Int64(bitPattern: field(.times) ?? 0)
    revision = field(.revision) ?? 0
    if isCut { return nil }
    if flags.contains(.tags) {
      guard let tags = TagHashes(record[offset...]) else { return nil }
      (tagCount, foundTags) = (UInt8(tags.count), tags)
      offset += tags.length
    }
    if flags.contains(.key) {
      guard record.count >= offset + 4 else { return nil }
      keyLength = record.load(offset)
      offset += 4
    }
    payloadLength = record.count - offset - Int(keyLength)
    guard payloadLength >= 0, cost >= 0 else { return nil }
    // Accept only the canonical form: a field is absent exactly if it is 0.
    guard flags.contains(.expires) == (expires != 0), flags.contains(.wideCost) == isWide,
      flags.contains(.key) == (keyLength != 0), flags.contains(.times) == hasTimes,
      flags.contains(.revision) == (revision != 0)
    else { return nil }
    if flags.contains(.pointer), payloadLength != ValuePointer.size { return nil }
  }

  /// The length of the header without the key.
  @inline(__always)
  var fixedLength: Int {
    Self.baseSize &+ (expires != 0 ? 8 : 0) &+ (isWide ? 8 : 0) &+ (hasTimes ? 16 : 0)
      &+ (revision != 0 ? 8 : 0) &+ TagHashes.length(Int(tagCount))
      &+ (keyLength != 0 ? 4 : 0)
  }

  var hasTags: Bool { tagCount != 0 }

  /// The tags, valid as long as the record or their source; `nil` if there are none, or after ``detached``.
  var tags: TagHashes? {
    get { foundTags }
    set { (tagCount, foundTags) = (UInt8(newValue?.count ?? 0), newValue) }
  }

  /// The header without its tags, which may outlive the record.
  var detached: RecordHeader {
    var header = self
    header.foundTags = nil
    return header
  }

  private var hasTimes: Bool { refresh | kept != 0 }

  private var isWide: Bool { cost > UInt32.max }

  @inline(__always)
  var keyOffset: Int { fixedLength }

  @inline(__always)
  var payloadOffset: Int { fixedLength &+ Int(keyLength) }

  @inline(__always)
  mutating func write(to record: MutableByteView, keyHash: UInt64, payloadHash: UInt64) {
    writeFields(to: record)
    Self.seal(record, stamp: stamp, fixedLength: fixedLength, keyHash: keyHash, payloadHash: payloadHash)
  }

  /// Writes everything except the stamp and the checksum.
  @inline(__always)
  mutating func writeFields(to record: MutableByteView) {
    flags.subtract([.expires, .wideCost, .times, .revision, .tags, .key, .transacted])
    if expires != 0 { flags.insert(.expires) }
    if isWide { flags.insert(.wideCost) }
    if hasTimes { flags.insert(.times) }
    if revision != 0 { flags.insert(.revision) }
    if hasTags { flags.insert(.tags) }
    if isTransacted { flags.insert(.transacted) }
    if keyLength != 0 { flags.insert(.key) }
    // Once, for the fields.
    precondition(record.count >= Self.baseSize)
    record.store(Self.version, at: 4)
    record.store(format.rawValue, at: 5)
    record.store(flags.rawValue, at: 6)
    record.store(created, at: 16)
    record.store(lastAccess, at: 20)
    record.store(UInt32(truncatingIfNeeded: isWide ? 0 : cost), at: 24)
    var offset = Self.baseSize
    func store(_ field: UInt64, if isThere: Bool) {
      guard isThere else { return }
      record.store(field, at: offset)
      offset += 8
    }
    store(UInt64(bitPattern: expires), if: expires != 0)
    store(UInt64(truncatingIfNeeded: cost), if: isWide)
    store(UInt64(bitPattern: refresh), if: hasTimes)
    store(UInt64(bitPattern: kept), if: hasTimes)
    store(revision, if: revision != 0)
    if hasTags {
      guard let tags else { preconditionFailure("A record is written without its tags.") }
      record.copy(tags.bytes, at: offset)
      offset += tags.length
    }
    if keyLength != 0 { record.store(keyLength, at: offset) }
  }

  /// Writes the stamp and the checksum of an otherwise complete header.
  @inline(__always)
  static func seal(_ record: MutableByteView, stamp: UInt64, fixedLength: Int, keyHash: UInt64, payloadHash: UInt64) {
    record.store(stamp, at: 8)
    let header = headerHash(ByteView(record), count: fixedLength, keyHash: keyHash)
    record.store(checksum(headerHash: header, payloadHash: payloadHash))
  }

  // MARK: The checksum

  @inline(__always)
  static func keyHash(_ key: ByteView) -> UInt64 { key.hash(seed: 0) }

  @inline(__always)
  static func payloadHash(_ payload: ByteView) -> UInt64 {
    payload.count < 512 ? payload.hash(seed: 1) : payload.wideHash(seed: 1)
  }

  /// XXH3 of the header past the checksum, seeded with the key's hash, mixed with the payload's XXH3 and reduced to 32
  /// bits. Separate hashes allow hashing a long payload before the stamp is known.
  @inline(__always)
  private static func checksum(headerHash: UInt64, payloadHash: UInt64) -> UInt32 {
    let sum = headerHash &+ payloadHash &* 0x9E37_79B9_7F4A_7C15
    return UInt32(truncatingIfNeeded: sum ^ sum >> 32)
  }

  @inline(__always)
  private static func headerHash(_ record: ByteView, count: Int, keyHash: UInt64) -> UInt64 {
    record[4..<count].hash(seed: keyHash)
  }

  /// The header's and key's part of the checksum.
  @inline(__always)
  func headerHash(_ record: ByteView, key: ByteView) -> UInt64 {
    Self.headerHash(record, count: fixedLength, keyHash: Self.keyHash(key))
  }

  /// Whether a payload, or its copy, belongs to the header with this hash.
  @inline(__always)
  func isIntact(headerHash: UInt64, payload: ByteView) -> Bool {
    checksum == Self.checksum(headerHash: headerHash, payloadHash: Self.payloadHash(payload))
  }

  @inline(__always)
  func isIntact(_ record: ByteView, key: ByteView) -> Bool {
    isIntact(headerHash: headerHash(record, key: key), payload: payload(of: record))
  }

  /// A record's contribution to ``CacheMetadata/digest``, from its checksum and stamp, which all versions store in the
  /// same place; 0 if it is too short.
  static func digest(of record: ByteView) -> UInt64 {
    guard record.count >= 16 else { return 0 }
    let checksum = UInt64(record.load(0, as: UInt32.self))
    let stamp: UInt64 = record.load(8)
    let word = (stamp ^ (checksum << 32 | checksum)) &* 0x9E37_79B9_7F4A_7C15
    return word ^ word >> 29
  }

  /// The end of the record.
  @inline(__always)
  func payload(of record: ByteView) -> ByteView { record[(record.count &- payloadLength)...] }

  /// The header for a record that holds a pointer to its value.
  var referring: RecordHeader {
    var header = self
    header.flags.insert(.pointer)
    return header
  }

  /// The value's length, wherever it is stored.
  func valueLength(in record: ByteView) -> Int {
    ValuePointer(in: record, self).map { max(0, $0.length) } ?? payloadLength
  }

  /// Whether the record belongs to the key; other keys may share its digest.
  @inline(__always)
  func belongs(to key: ByteView, in record: ByteView) -> Bool {
    keyLength == 0 || record[keyOffset..<payloadOffset].elementsEqual(fast: key)
  }

  func isSameRecord(as other: RecordHeader) -> Bool { stamp == other.stamp && checksum == other.checksum }

  /// Updates the last access, if it is later; `generation` is the number of seconds whose accesses count as one use.
  mutating func noteAccess(_ access: UInt32, generation: UInt32) {
    guard access > lastAccess else { return }
    if access / generation != lastAccess / generation { uses = min(uses + 1, Self.maximumUses) }
    lastAccess = access
  }

  @inline(__always)
  func isExpired(at now: Int64) -> Bool { expires != 0 && expires <= now }

  /// Whether it has expired even for loads.
  func isOver(at now: Int64) -> Bool { isExpired(at: now) && (kept == 0 || kept <= now) }

  /// Changes the expiry, and moves the refresh and kept times with it.
  mutating func move(toExpiry expires: Int64) {
    let change = expires == 0 || self.expires == 0 ? nil : expires.subtractingReportingOverflow(self.expires)
    func moved(_ time: Int64) -> Int64 {
      guard time != 0, let (change, overflow) = change, !overflow else { return 0 }
      return time.addingClamped(change)
    }
    (refresh, kept) = (moved(refresh), moved(kept))
    self.expires = expires
  }

  /// When the memory tier must stop serving it, in nanoseconds since 1970; `Int64.max` for never.
  @inline(__always)
  var servedFromMemory: Int64 {
    let expires = expires == 0 ? .max : expires
    return refresh == 0 ? expires : min(refresh, expires)
  }

  static func seconds(_ nanoseconds: Int64) -> UInt32 { UInt32(clamping: nanoseconds / 1_000_000_000) }
}

/// A record read from the disk tier, with its payload copied.
struct StoredRecord<Payload> {
  /// Without its tags.
  let header: RecordHeader
  let tags: EntryTags?
  /// The header's and key's part of the checksum.
  let headerHash: UInt64
  let payload: Payload
  /// The transaction at which the record is known to be current.
  var validated: UInt64 = 0

  func replacingPayload<Other>(with payload: Other) -> StoredRecord<Other> {
    StoredRecord<Other>(header: header, tags: tags, headerHash: headerHash, payload: payload, validated: validated)
  }
}

typealias StoredHeader = StoredRecord<Void>

extension StoredHeader {
  /// - Parameter header: Its tags must still be valid.
  init(_ header: RecordHeader, validated: UInt64) {
    self.init(
      header: header.detached, tags: header.tags.map(EntryTags.init(copying:)), headerHash: 0, payload: (),
      validated: validated)
  }
}
