import Foundation
import LMDBCaching
import Platform
import TestSupport

package enum ForeignFilesTrial: Trial {
  package static let name = "foreign-files"
  package static let summary =
    "A user's files, links and pipes are in a cache's directory: none is changed, deleted or waited at."
  package static let defaultCount = 300

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var trial = Run(settings: settings, random: SeededRandom(settings.seed))
    for round in 0..<settings.count {
      try trial.round(round)
      if trial.report.failureCount > 20 { break }
    }
    return trial.report
  }

  private enum Guise: CaseIterable {
    case file
    case symbolicLink
    case danglingLink
    case hardLink
    case pipe
  }

  private struct Run {
    let settings: TrialSettings
    var random: SeededRandom
    var report = TrialReport()

    mutating func round(_ round: Int) throws {
      let folder = settings.directory + "/\(round)"
      let (path, victims) = (folder + "/cache", folder + "/elsewhere")
      for made in [folder, path, victims] {
        try FileManager.default.createDirectory(
          atPath: made, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      }
      let durability = Durability.allCases[random.below(Durability.allCases.count)]
      let isCache = random.below(2) == 0
      if isCache { try make(path, durability) }
      var foreign: [String] = []
      for _ in 0...random.below(3) {
        if let name = try place(in: path, victims, besideCache: isCache) { foreign.append(name) }
      }
      let before = try foreign.map { ($0, try TreeImage(path + "/" + $0)) }
      let elsewhere = try TreeImage(victims)
      let text = "round \(round), .\(durability), \(isCache ? "a cache" : "no cache") with \(foreign)"
      for step in 0..<1 + random.below(3) {
        if isCache && random.below(3) == 0 { damage(path) }
        let arguments = [
          path, "\(durability.rawValue)", "\(random.below(2) == 0 ? 0 : step + 2)", "\(!isCache && !foreign.isEmpty)",
        ]
        try report.run(ForeignFilesTrial.self, arguments, within: 10, "\(text), step \(step)")
      }
      for (name, image) in before {
        for loss in image.losses(in: try TreeImage(path + "/" + name)) { report.fail("\(text): \(name), \(loss)") }
      }
      let after = try TreeImage(victims)
      for loss in elsewhere.losses(in: after) { report.fail("\(text): elsewhere, \(loss)") }
      for addition in elsewhere.additions(in: after) { report.fail("\(text): elsewhere, \(addition) was made") }
      try FileManager.default.removeItem(atPath: folder)
    }

    private func make(_ path: String, _ durability: Durability) throws {
      let cache = try TrialCache.open(path) { $0.durability = durability }
      for index in 0..<50 { try cache.set("v\(index)", forKey: "k\(index)") }
      try cache.set(Data(repeating: 1, count: 2 << 20), forKey: "large")
      try cache.close()
    }

    private mutating func damage(_ path: String) {
      var status = stat()
      guard lstat(path + "/data.mdb", &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1,
        var bytes = FileManager.default.contents(atPath: path + "/data.mdb"), bytes.count > 8_192
      else { return }
      for index in 8_192..<bytes.count { bytes[index] = UInt8(truncatingIfNeeded: random.next()) }
      guard let file = FileHandle(forWritingAtPath: path + "/data.mdb") else { return }
      file.write(bytes)
      file.closeFile()
      report.count("damaged")
    }

    /// Places a foreign file where its name is free. Returns the name, or nil if the cache may replace it: then only a
    /// link's target must survive.
    private mutating func place(in path: String, _ victims: String, besideCache: Bool) throws -> String? {
      let content = ForeignContent.allCases[random.below(ForeignContent.allCases.count)]
      let top = content.path.split(separator: "/").first.map(String.init) ?? content.path
      let guise = Guise.allCases[random.below(Guise.allCases.count)]
      var status = stat()
      var isThere = lstat(path + "/" + top, &status) == 0
      if isThere, besideCache, guise != .file, status.st_mode & S_IFMT == S_IFREG, TrialCache.fileNames.contains(top) {
        try FileManager.default.removeItem(atPath: path + "/" + top)
        isThere = false
      }
      let isFolder = isThere && status.st_mode & S_IFMT == S_IFDIR && content.path != top
      if isThere && !(guise == .file && isFolder && access(path + "/" + content.path, F_OK) != 0) { return nil }
      if guise == .file {
        // The cache may replace files under its own names.
        if besideCache && content.path == top && TrialCache.fileNames.contains(top) { return nil }
        report.count("\(guise)")
        try content.place(in: path)
        return content.path
      }
      report.count("\(guise)")
      let victim = victims + "/\(random.next())"
      if guise != .danglingLink { try content.bytes.write(to: URL(fileURLWithPath: victim)) }
      switch guise {
      case .file: break
      case .symbolicLink, .danglingLink:
        try FileManager.default.createSymbolicLink(atPath: path + "/" + top, withDestinationPath: victim)
      case .hardLink: try FileManager.default.linkItem(atPath: victim, toPath: path + "/" + top)
      case .pipe:
        guard mkfifo(path + "/" + top, 0o600) == 0 else { throw CacheError(.storageFailed, "mkfifo failed") }
      }
      return besideCache && TrialCache.fileNames.contains(top) ? nil : top
    }
  }
}

/// Uses a directory as a cache as far as possible: `DIRECTORY DURABILITY BOOT MUST-REFUSE`; boot 0 is the current one.
extension ForeignFilesTrial: TrialRole {
  package static func run(_ arguments: [String]) throws {
    let boot = UInt64(arguments[2])!
    if boot > 0 { BootIdentifier.simulate(boot: boot) }
    // A day ahead, so that every abandoned file counts as old.
    let clock = ManualClock(now: CacheClock.system.now + 86_400_000_000_000)
    let cache: LMDBCache
    do {
      cache = try TrialCache.open(arguments[0]) {
        $0.durability = Durability(rawValue: UInt8(arguments[1])!)!
        $0.clock = .manual(clock)
      }
    } catch {
      let code = (error as? CacheError)?.code ?? .storageFailed
      return code == .storageFailed ? answer("failed without a name: \(error)") : count("refused")
    }
    if arguments[3] == "true" { answer("the directory is taken for a cache's") }
    try cache.set(Data(count: 2 << 20), forKey: "large")
    try cache.set("v", forKey: "key")
    try cache.flush()
    clock.advance(by: .seconds(61))
    try cache.sweepValues()
    guard try cache.value(String.self, forKey: "key") == "v" else { return answer("a write is lost") }
    try cache.trim(to: .count(1))
    try cache.removeAll()
    try cache.set("w", forKey: "key")
    try cache.close()
    count("opened")
  }
}
