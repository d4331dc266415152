/// The names that a cache of this version uses in its directory.
enum CacheFileName: String, CaseIterable, Sendable {
  case processLock = "processes.lock"
  case cleanExit = "clean-exit"
  case newFastSession = "fast-session.new"
  case fastSession = "fast-session"
  case new = "new"
  case data = "data.mdb"
  case lockFile = "lock.mdb"
  case journals = "journals"
  case values = "values"

  var isFolder: Bool { [.new, .journals, .values].contains(self) }

  static let files = allCases.filter { !$0.isFolder }
}
