/// What was not taken, and why.
public struct ImportRefusal: Sendable, Equatable {
  /// Why something is not taken. An open set: newer versions may add reasons, so keep a `default`.
  public struct Reason: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    private init(_ description: String) { self.description = description }

    /// The key is no text, or longer than a key of the cache can be.
    public static let unreadableKey = Reason("unreadableKey")
    /// The source has no value under the key: the file that it should be in is gone, say.
    public static let missingValue = Reason("missingValue")
    /// What should name a file of the source names one elsewhere. It was not opened.
    public static let foreignName = Reason("foreignName")
    /// A link, a FIFO, a device, or a directory where there should be a file. It was not opened. Where an entry names
    /// it as the file of its value, the entry is ``unreadable``.
    public static let notAFile = Reason("notAFile")
    /// The value is not as it was written: its archive is damaged, or its file cut off.
    public static let damagedValue = Reason("damagedValue")
    /// The value is not of the type that was given for it.
    public static let wrongType = Reason("wrongType")
    /// The value is longer than ``ImportOptions/maximumValueSize``.
    public static let tooLarge = Reason("tooLarge")
    /// The operating system, or the database, failed to read it; what is in the place of its file is none; or it is in
    /// a directory that is too deep.
    public static let unreadable = Reason("unreadable")
    /// The entry was taken, and YYCache's extended data of it was not: the cache has no place for it.
    public static let extendedData = Reason("extendedData")
    /// What was written last to the source is damaged: the state before it was taken.
    public static let olderState = Reason("olderState")
    /// The source has the journal of a transaction that did not end. The journal was ignored, so entries of that
    /// transaction may have been taken.
    public static let uncommittedChanges = Reason("uncommittedChanges")
  }

  /// The key in the source, as far as it can be shown; empty: of no single entry.
  public let key: String
  public let reason: Reason
  /// For people.
  public let message: String

  init(key: String, _ failure: EntryFailure) {
    self.key = key
    reason = failure.reason
    message = failure.message
  }
}

/// Why something of one entry is not taken.
struct EntryFailure: Error {
  let reason: ImportRefusal.Reason
  let message: String

  init(_ reason: ImportRefusal.Reason, _ message: String) {
    self.reason = reason
    self.message = message
  }
}
