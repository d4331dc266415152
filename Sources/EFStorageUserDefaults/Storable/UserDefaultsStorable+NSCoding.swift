import EFStorageCore
public import Foundation
import FoundationArchives

extension UserDefaultsStorable where Self: NSCoding {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> { archived() }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Self? {
    unarchived(userDefaults, key)
  }

  fileprivate func archived() -> Result<any AsIsUserDefaultsStorable, any Error> {
    Result { try KeyedArchive.data(of: self, as: Self.self) }
  }

  fileprivate static func unarchived(_ userDefaults: UserDefaults, _ key: String) -> Self? {
    LoadingErrors.noting(forKey: key) {
      try Data.loadFromUserDefaults(userDefaults, forKey: key).map { try KeyedArchive.object(Self.self, from: $0) }
    }
  }
}

// A class that is both is stored as its coder says.
extension UserDefaultsStorable where Self: NSCoding & Codable {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> { archived() }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Self? {
    unarchived(userDefaults, key)
  }
}
