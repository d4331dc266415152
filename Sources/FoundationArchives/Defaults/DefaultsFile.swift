import Foundation

/// The file of one suite of user defaults, as Foundation on Linux names it, and the copy beside it.
///
/// Foundation truncates the file and then writes it. Who reads it in between finds nothing, and a process that dies in
/// between leaves nothing. So whoever writes it by this package locks the copy first, and saves in it what the file
/// holds. A file that is found empty or cut off is replaced by the copy, in one step.
struct DefaultsFile: Sendable {
  /// The copy is a hidden file with this ending. It also is what processes lock.
  private static let ending = ".copy"
  /// A program that takes no lock may be writing a file that looks damaged: so often it is read again.
  private static let attempts = 4

  enum Contents {
    case absent
    /// A property list with a dictionary.
    case sound([UInt8])
    /// Nothing, or a part of a property list, or something else.
    case damaged([UInt8])
  }

  let path: String
  let copyPath: String

  /// - Parameter path: A link is followed, so that the file which it names is what is replaced.
  init(path: String) {
    self.path = FileCalls.resolved(path)
    let url = URL(fileURLWithPath: self.path)
    copyPath = url.deletingLastPathComponent().path + "/." + url.lastPathComponent + Self.ending
  }

  /// Where Foundation keeps a suite, or the standard defaults.
  init(suite: String?) {
    let name = suite ?? Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
    self.init(path: DefaultsLocation.path(ofSuite: name))
  }

  /// The suite of defaults, where Foundation lets it be seen; `.some(nil)` for the standard defaults.
  ///
  /// Foundation has no function that tells. The name is the first property that it stores, which a test checks.
  static func suite(of defaults: UserDefaults) -> String?? {
    var mirror: Mirror? = Mirror(reflecting: defaults)
    while let current = mirror, current.subjectType != UserDefaults.self { mirror = current.superclassMirror }
    guard let property = mirror?.children.first, property.label == "suite" else { return nil }
    return .some(property.value as? String)
  }

  // MARK: Without the lock

  var hasCopy: Bool {
    get throws(FileCalls.Failure) { try Self.bytes(at: copyPath) != nil }
  }

  func contents() throws(FileCalls.Failure) -> Contents {
    guard let bytes = try Self.bytes(at: path) else { return .absent }
    return Self.isSound(bytes) ? .sound(bytes) : .damaged(bytes)
  }

  private static func bytes(at path: String) throws(FileCalls.Failure) -> [UInt8]? {
    do {
      return try FileCalls.bytes(of: FileCalls.open(path, FileCalls.reading))
    } catch {
      if error.isAbsence { return nil }
      throw error
    }
  }

  private static func isSound(_ bytes: [UInt8]) -> Bool {
    do {
      return try PropertyListSerialization.propertyList(from: Data(bytes), options: [], format: nil) is [String: Any]
    } catch {
      return false
    }
  }

  // MARK: With the lock

  /// Waits for the lock, and creates the copy that is locked.
  ///
  /// - Throws: `DefaultsDamage` if another process has not released it in time.
  func lock(within limit: Duration) throws(DefaultsDamage) -> Locked {
    do {
      let clock = ContinuousClock()
      let deadline = clock.now + limit
      try FileManager.default.createDirectory(
        atPath: URL(fileURLWithPath: copyPath).deletingLastPathComponent().path, withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
      while true {
        let copy = try FileCalls.open(copyPath, FileCalls.readingAndWriting)
        // One that was removed meanwhile locks nobody out.
        if try FileCalls.tryLock(copy), try FileCalls.isNamed(copy, copyPath) { return Locked(file: self, copy: copy) }
        if clock.now >= deadline { break }
        FileCalls.pause(milliseconds: 1)
      }
    } catch {
      throw .unwritten(path, "\(copyPath) cannot be locked (\(error))")
    }
    throw .unwritten(path, "another process has kept \(copyPath) locked for \(limit)")
  }

  /// The file while no other process of this package reads or writes it.
  struct Locked: ~Copyable {
    let file: DefaultsFile
    let copy: FileCalls.Descriptor

    /// Replaces a damaged file by the copy, or removes it where there is none.
    borrowing func repair() throws(DefaultsDamage) -> DefaultsDamage? {
      do {
        for attempt in 1...DefaultsFile.attempts {
          guard case .damaged(let bytes) = try file.contents() else { return nil }
          if attempt == DefaultsFile.attempts { return try replace(bytes) }
          FileCalls.pause(milliseconds: 20)
        }
        return nil
      } catch {
        throw .unwritten(file.path, "it is damaged, and cannot be repaired (\(error))")
      }
    }

    private borrowing func replace(_ damaged: [UInt8]) throws(FileCalls.Failure) -> DefaultsDamage {
      let saved = try FileCalls.bytes(of: copy)
      var kept: String?
      if !damaged.isEmpty {
        kept = file.path + ".damaged"
        try FileCalls.replace(FileCalls.open(file.path + ".damaged", FileCalls.writingAnew), with: damaged)
      }
      guard DefaultsFile.isSound(saved) else {
        try FileCalls.remove(file.path)
        return .lost(file.path, keptIn: kept)
      }
      let new = file.copyPath + ".new"
      try FileCalls.replace(FileCalls.open(new, FileCalls.writingAnew), with: saved)
      try FileCalls.rename(new, to: file.path)
      return .restored(file.path)
    }

    /// Removes the copy of a file that is not there, as of an emptied suite. The last thing to do with the lock: whoever
    /// waits for it notices, and locks a new copy.
    borrowing func removeUnneededCopy() {
      do {
        if case .absent = try file.contents() { try FileCalls.remove(file.copyPath) }
      } catch {
        // An empty copy is as good as none.
      }
    }

    /// Saves what the file holds, before it is truncated.
    borrowing func saveCopy() throws(DefaultsDamage) {
      do {
        let bytes: [UInt8] =
          switch try file.contents() {
          case .absent: []
          case .sound(let bytes): bytes
          case .damaged: throw FileCalls.Failure(call: "read", code: FileCalls.damaged)
          }
        if try FileCalls.bytes(of: copy) != bytes { try FileCalls.replace(copy, with: bytes) }
      } catch {
        throw .unwritten(file.path, "no copy can be saved in \(file.copyPath) (\(error))")
      }
    }
  }
}
