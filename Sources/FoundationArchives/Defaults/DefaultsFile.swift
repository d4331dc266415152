import Foundation
import Platform

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
  private let directoryPath: String
  private let name: String
  private let copyName: String

  /// - Parameter path: A link is followed, so that the file which it names is what is replaced.
  init(path: String) {
    let url = URL(fileURLWithPath: path).resolvingSymlinksInPath()
    self.path = url.path
    directoryPath = url.deletingLastPathComponent().path
    name = url.lastPathComponent
    copyName = "." + name + Self.ending
    copyPath = directoryPath + "/" + copyName
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
    get throws(SystemError) { try Directory(existing: directoryPath)?.kind(of: copyName) != nil }
  }

  func contents() throws(SystemError) -> Contents {
    guard let file = try Directory(existing: directoryPath)?.open(name) else { return .absent }
    let bytes = try file.readToEnd(limit: .max)
    return Self.isSound(bytes) ? .sound(bytes) : .damaged(bytes)
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
  /// - Parameter limit: Nanoseconds.
  /// - Throws: `DefaultsDamage` if another process has not released it in time.
  func lock(within limit: Int64) throws(DefaultsDamage) -> Locked {
    do {
      let directory = try Directory(path: directoryPath, creating: true)
      let deadline = MonotonicClock.nanoseconds + limit
      repeat {
        let lock = FileLock(try directory.create(copyName))
        let isLocked = try lock.lock(.exclusive, within: max(0, deadline - MonotonicClock.nanoseconds))
        // One that was removed meanwhile locks nobody out.
        if isLocked, try lock.file.isStill(copyName, in: directory) {
          return Locked(file: self, directory: directory, lock: lock)
        }
      } while MonotonicClock.nanoseconds < deadline
    } catch {
      throw .unwritten(path, "\(copyPath) cannot be locked (\(error))")
    }
    throw .unwritten(path, "another process has kept \(copyPath) locked for \(limit / 1_000_000_000) s")
  }

  /// The file while no other process of this package reads or writes it.
  struct Locked: ~Copyable {
    let file: DefaultsFile
    fileprivate let directory: Directory
    /// Of the copy.
    fileprivate let lock: FileLock

    /// Replaces a damaged file by the copy, or removes it where there is none.
    borrowing func repair() throws(DefaultsDamage) -> DefaultsDamage? {
      do {
        for attempt in 1...DefaultsFile.attempts {
          guard case .damaged(let bytes) = try file.contents() else { return nil }
          if attempt == DefaultsFile.attempts { return try replace(bytes) }
          MonotonicClock.sleep(nanoseconds: 20_000_000)
        }
        return nil
      } catch {
        throw .unwritten(file.path, "it is damaged, and cannot be repaired (\(error))")
      }
    }

    private borrowing func replace(_ damaged: [UInt8]) throws(SystemError) -> DefaultsDamage {
      let saved = try lock.file.readToEnd(limit: .max)
      var kept: String?
      if !damaged.isEmpty {
        kept = file.path + ".damaged"
        try Self.replace(directory.create(file.name + ".damaged"), with: damaged)
      }
      guard DefaultsFile.isSound(saved) else {
        try directory.remove(file.name)
        return .lost(file.path, keptIn: kept)
      }
      let new = file.copyName + ".new"
      try Self.replace(directory.create(new), with: saved)
      try directory.rename(new, to: file.name)
      return .restored(file.path)
    }

    /// Replaces what a file holds, and waits until that is on the disk.
    private static func replace(_ file: borrowing File, with bytes: [UInt8]) throws(SystemError) {
      try file.truncate(to: 0)
      try file.write(bytes, at: 0)
      try file.synchronize()
    }

    /// Removes the copy of a file that is not there, as of an emptied suite. The last thing to do with the lock: whoever
    /// waits for it notices, and locks a new copy.
    borrowing func removeUnneededCopy() {
      do {
        if case .absent = try file.contents() { try directory.remove(file.copyName) }
      } catch {
        // An empty copy is as good as none.
      }
    }

    /// Saves what the file holds, before it is truncated.
    borrowing func saveCopy() throws(DefaultsDamage) {
      do throws(SystemError) {
        let contents: [UInt8]? =
          switch try file.contents() {
          case .absent: []
          case .sound(let contents): contents
          case .damaged: nil
          }
        if let contents {
          if try lock.file.readToEnd(limit: .max) != contents { try Self.replace(lock.file, with: contents) }
          return
        }
      } catch {
        throw .unwritten(file.path, "no copy can be saved in \(file.copyPath) (\(error))")
      }
      throw .unwritten(file.path, "it is damaged")
    }
  }
}
