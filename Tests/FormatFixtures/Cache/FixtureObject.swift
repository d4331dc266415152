package import Foundation

/// A custom class. Archives name it and its module, so neither may be renamed.
// Sendable: immutable.
package final class FixtureObject: NSObject, NSSecureCoding, @unchecked Sendable {
  package static let supportsSecureCoding = true
  package let title: String
  package let count: Int

  init(title: String, count: Int) {
    self.title = title
    self.count = count
  }

  package init?(coder: NSCoder) {
    guard let title = coder.decodeObject(of: NSString.self, forKey: "title") else { return nil }
    self.title = String(describing: title)
    count = coder.decodeInteger(forKey: "count")
  }

  package func encode(with coder: NSCoder) {
    coder.encode(NSString(string: title), forKey: "title")
    coder.encode(count, forKey: "count")
  }
}
