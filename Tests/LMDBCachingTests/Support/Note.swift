import Foundation

/// An object of a class of the caller's.
final class Note: NSObject, NSSecureCoding, @unchecked Sendable {  // Sendable: immutable.
  static let supportsSecureCoding = true
  let title: String
  let count: Int

  init(title: String, count: Int) {
    self.title = title
    self.count = count
  }

  init?(coder: NSCoder) {
    guard let title = coder.decodeObject(of: NSString.self, forKey: "title") else { return nil }
    self.title = String(describing: title)
    count = coder.decodeInteger(forKey: "count")
  }

  func encode(with coder: NSCoder) {
    coder.encode(NSString(string: title), forKey: "title")
    coder.encode(count, forKey: "count")
  }
}
